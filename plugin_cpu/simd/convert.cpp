// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/simd/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/simd/convert.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class H>
void Widen(const H* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i];
}
template <class H>
void Narrow(const float* from, H* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = H(from[i]);
}

// As sdk::BFloat16 rounds.
template <>
void Narrow(const float* from, sdk::BFloat16* to, int64_t n) {
  const hn::ScalableTag<uint32_t> d;
  const hn::RebindToFloat<decltype(d)> df;
  const hn::Rebind<uint16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* p = reinterpret_cast<uint16_t*>(to);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto f = hn::LoadU(df, from + i);
    const auto x = hn::BitCast(d, f), high = hn::ShiftRight<16>(x);
    const auto up = hn::Add(hn::And(high, hn::Set(d, 1)), hn::Set(d, 0x7fff));
    const auto nan = hn::RebindMask(d, hn::IsNaN(f));
    const auto rounded = hn::ShiftRight<16>(hn::Add(x, up));
    hn::StoreU(hn::TruncateTo(dh, hn::IfThenElse(nan, hn::Or(high, hn::Set(d, 0x40)), rounded)), dh,
               p + i);
  }
  for (; i < n; ++i) to[i] = sdk::BFloat16(from[i]);
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3  // F16C
template <>
void Widen(const sdk::Half* from, float* to, int64_t n) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto* p = reinterpret_cast<const hwy::float16_t*>(from);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::PromoteTo(df, hn::LoadU(dh, p + i)), df, to + i);
  for (; i < n; ++i) to[i] = from[i];
}
template <>
void Narrow(const float* from, sdk::Half* to, int64_t n) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  auto* p = reinterpret_cast<hwy::float16_t*>(to);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(df, from + i)), dh, p + i);
  for (; i < n; ++i) to[i] = sdk::Half(from[i]);
}
#endif

void HalfToFloat(const sdk::Half* from, float* to, int64_t n) { Widen(from, to, n); }
void BFloatToFloat(const sdk::BFloat16* from, float* to, int64_t n) { Widen(from, to, n); }
void FloatToHalf(const float* from, sdk::Half* to, int64_t n) { Narrow(from, to, n); }
void FloatToBFloat(const float* from, sdk::BFloat16* to, int64_t n) { Narrow(from, to, n); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(HalfToFloat);
TENON_EXPORT(BFloatToFloat);
TENON_EXPORT(FloatToHalf);
TENON_EXPORT(FloatToBFloat);

void to_float(const sdk::Half* from, float* to, int64_t n) {
  TENON_DISPATCH(HalfToFloat)(from, to, n);
}
void to_float(const sdk::BFloat16* from, float* to, int64_t n) {
  TENON_DISPATCH(BFloatToFloat)(from, to, n);
}
void from_float(const float* from, sdk::Half* to, int64_t n) {
  TENON_DISPATCH(FloatToHalf)(from, to, n);
}
void from_float(const float* from, sdk::BFloat16* to, int64_t n) {
  TENON_DISPATCH(FloatToBFloat)(from, to, n);
}

}  // namespace tenon::cpu
#endif
