// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 products with a B that the caller keeps packed.
#include "plugin_cpu/gemm/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/gemm/packed_product.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/gemm/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

int64_t packed_size_f32(int64_t n, int64_t k) {
  const int64_t width = panel_width<float>();
  return (n + width - 1) / width * width * k;
}

void pack_f32(int64_t n, int64_t k, const Mat<const float>& b, float* to) {
  const int64_t width = panel_width<float>();
  for (int64_t j = 0; j < n; j += width)
    pack_b(k, std::min(width, n - j), width, b.data + j * b.cs, b.rs, b.cs, to + j * k);
}

void product_packed_f32(int64_t m, int64_t n, int64_t k, const Mat<const float>& a, const float* b,
                        const Mat<float>& c) {
  using S = Sizes<float>;
  const int64_t width = panel_width<float>();
  for (int64_t j = 0; j < n; j += width) {
    for (int64_t p0 = 0; p0 < k; p0 += S::kDepth) {
      const Tile<float> t{std::min(S::kDepth, k - p0),
                          a.data + p0 * a.cs,
                          a.rs,
                          a.cs,
                          b + j * k + p0 * width,
                          width,
                          1.0f,
                          p0 == 0 ? 0.0f : 1.0f,
                          c.data + j * c.cs,
                          c.rs};
      panel<float>(m, std::min(width, n - j), t, c.cs);
    }
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(packed_size_f32);
TENON_EXPORT(pack_f32);
TENON_EXPORT(product_packed_f32);

int64_t gemm_packed_size(int64_t n, int64_t k) { return TENON_DISPATCH(packed_size_f32)(n, k); }
void gemm_pack(int64_t n, int64_t k, Mat<const float> b, float* to) {
  TENON_DISPATCH(pack_f32)(n, k, b, to);
}
void gemm_packed(int64_t m, int64_t n, int64_t k, Mat<const float> a, const float* b,
                 Mat<float> c) {
  TENON_DISPATCH(product_packed_f32)(m, n, k, a, b, c);
}

}  // namespace tenon::cpu
#endif
