// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Signals side by side: stages of radix 4, and one of radix 2 at the end of an odd power of two.
#include "plugin_cpu/fft/lanes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/fft/stages.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"
#include "plugin_cpu/fft/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The last stage: both halves, without roots.
template <class T>
void radix2(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, int64_t run) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t q = 0; q < run; q += lanes) {
    const auto a = hn::LoadU(d, x + q), b = hn::LoadU(d, x + q + run);
    hn::StoreU(hn::Add(a, b), d, y + q);
    hn::StoreU(hn::Sub(a, b), d, y + q + run);
  }
}

template <class T>
T* all_stages(T* x, T* y, int64_t n, const T* roots) {
  const int64_t apart = fft::lanes_apart<T>(n);
  int64_t left = n, run = fft::kLanes<T>;
  for (; left >= 4; left /= 4, run *= 4, std::swap(x, y))
    radix4(x, y, left / 4, run, apart, roots, n / left);
  if (left == 1) return x;
  radix2(x, y, run);
  radix2(x + apart, y + apart, run);
  return y;
}
float* float_stages(float* x, float* y, int64_t n, const float* roots) {
  return all_stages(x, y, n, roots);
}
double* double_stages(double* x, double* y, int64_t n, const double* roots) {
  return all_stages(x, y, n, roots);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(float_stages);
TENON_EXPORT(double_stages);

namespace fft {

template <>
float* transform_lanes(float* x, float* y, int64_t n, const float* roots) {
  return TENON_DISPATCH(float_stages)(x, y, n, roots);
}
template <>
double* transform_lanes(double* x, double* y, int64_t n, const double* roots) {
  return TENON_DISPATCH(double_stages)(x, y, n, roots);
}

}  // namespace fft
}  // namespace tenon::cpu
#endif
