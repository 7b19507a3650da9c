// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Stockham's algorithm: stages of radix 4, and one of radix 2 at the end of an odd power of two.
// Between two stages the elements are in order, so that nothing is permuted.
#include "plugin_cpu/fft/lanes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/fft/stages.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Of transforms of 4 m points, `run` elements side by side each: imaginary parts are `apart` behind
// the real ones.
template <class T>
void radix4(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, int64_t m, int64_t run, int64_t apart,
            const T* roots, int64_t step) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < m; ++p) {
    const auto root = [&](int64_t k, int part) {
      return hn::Set(d, roots[2 * k * p * step + part]);
    };
    const auto r1 = root(1, 0), i1 = root(1, 1), r2 = root(2, 0), i2 = root(2, 1), r3 = root(3, 0),
               i3 = root(3, 1);
    const T* from = x + p * run;
    T* to = y + 4 * p * run;
    for (int64_t q = 0; q < run; q += lanes, from += lanes, to += lanes) {
      const auto re = [&](int64_t k) { return hn::LoadU(d, from + k * m * run); };
      const auto im = [&](int64_t k) { return hn::LoadU(d, from + k * m * run + apart); };
      const auto ar = re(0), ai = im(0), br = re(1), bi = im(1), cr = re(2), ci = im(2), dr = re(3),
                 di = im(3);
      const auto sr = hn::Add(ar, cr), si = hn::Add(ai, ci), tr = hn::Sub(ar, cr),
                 ti = hn::Sub(ai, ci), ur = hn::Add(br, dr), ui = hn::Add(bi, di),
                 vr = hn::Sub(br, dr), vi = hn::Sub(bi, di);
      const auto put = [&](int64_t k, auto zr, auto zi, auto wr, auto wi) {
        hn::StoreU(hn::NegMulAdd(zi, wi, hn::Mul(zr, wr)), d, to + k * run);
        hn::StoreU(hn::MulAdd(zr, wi, hn::Mul(zi, wr)), d, to + k * run + apart);
      };
      hn::StoreU(hn::Add(sr, ur), d, to);
      hn::StoreU(hn::Add(si, ui), d, to + apart);
      put(1, hn::Add(tr, vi), hn::Sub(ti, vr), r1, i1);
      put(2, hn::Sub(sr, ur), hn::Sub(si, ui), r2, i2);
      put(3, hn::Sub(tr, vi), hn::Add(ti, vr), r3, i3);
    }
  }
}

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
