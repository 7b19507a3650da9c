// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products with a B that the caller keeps packed.
#include "plugin_cpu/gemm/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/gemm/packed_product.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/gemm/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

template <class T>
int64_t packed_size(int64_t n, int64_t k) {
  const int64_t width = panel_width<T>();
  return (n + width - 1) / width * width * k;
}

template <class T>
void pack(int64_t n, int64_t k, const Mat<const T>& b, T* to) {
  const int64_t width = panel_width<T>();
  for (int64_t j = 0; j < n; j += width)
    pack_b(k, std::min(width, n - j), width, b.data + j * b.cs, b.rs, b.cs, to + j * k);
}

template <class T>
void product_packed(int64_t m, int64_t n, int64_t k, const Mat<const T>& a, const T* b,
                    const Mat<T>& c) {
  const int64_t width = panel_width<T>();
  for (int64_t j = 0; j < n; j += width) {
    Tile<T> t{k, a.data, a.rs, a.cs, b + j * k, width, T(1), T(0), c.data + j * c.cs, c.rs};
    t.fetch_b = m <= 4 * kRows;
    panel<T>(m, std::min(width, n - j), t, c.cs);
  }
}

int64_t packed_size_f32(int64_t n, int64_t k) { return packed_size<float>(n, k); }
int64_t packed_size_f64(int64_t n, int64_t k) { return packed_size<double>(n, k); }
void pack_f32(int64_t n, int64_t k, const Mat<const float>& b, float* to) { pack(n, k, b, to); }
void pack_f64(int64_t n, int64_t k, const Mat<const double>& b, double* to) { pack(n, k, b, to); }
void product_packed_f32(int64_t m, int64_t n, int64_t k, const Mat<const float>& a, const float* b,
                        const Mat<float>& c) {
  product_packed(m, n, k, a, b, c);
}
void product_packed_f64(int64_t m, int64_t n, int64_t k, const Mat<const double>& a,
                        const double* b, const Mat<double>& c) {
  product_packed(m, n, k, a, b, c);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(packed_size_f32);
TENON_EXPORT(packed_size_f64);
TENON_EXPORT(pack_f32);
TENON_EXPORT(pack_f64);
TENON_EXPORT(product_packed_f32);
TENON_EXPORT(product_packed_f64);

template <>
int64_t gemm_packed_size<float>(int64_t n, int64_t k) {
  return TENON_DISPATCH(packed_size_f32)(n, k);
}
template <>
int64_t gemm_packed_size<double>(int64_t n, int64_t k) {
  return TENON_DISPATCH(packed_size_f64)(n, k);
}
void gemm_pack(int64_t n, int64_t k, Mat<const float> b, float* to) {
  TENON_DISPATCH(pack_f32)(n, k, b, to);
}
void gemm_pack(int64_t n, int64_t k, Mat<const double> b, double* to) {
  TENON_DISPATCH(pack_f64)(n, k, b, to);
}
void gemm_packed(int64_t m, int64_t n, int64_t k, Mat<const float> a, const float* b,
                 Mat<float> c) {
  TENON_DISPATCH(product_packed_f32)(m, n, k, a, b, c);
}
void gemm_packed(int64_t m, int64_t n, int64_t k, Mat<const double> a, const double* b,
                 Mat<double> c) {
  TENON_DISPATCH(product_packed_f64)(m, n, k, a, b, c);
}

}  // namespace tenon::cpu
#endif
