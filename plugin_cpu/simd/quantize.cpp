// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/simd/quantize.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/simd/quantize.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// y = f(x), vector by vector; what is left over goes through vectors on the stack.
template <class DX, class DY, class F>
HWY_INLINE void EachVector(DX dx, DY dy, const hn::TFromD<DX>* x, hn::TFromD<DY>* y, int64_t n,
                           F f) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(dx));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(dx, x + i)), dy, y + i);
  constexpr std::size_t kMaxLanes = hn::MaxLanes(DX());
  if constexpr (kMaxLanes > 1) {
    if (i == n) return;
    hn::TFromD<DX> in[kMaxLanes] = {};
    hn::TFromD<DY> out[kMaxLanes];
    std::copy(x + i, x + n, in);
    hn::StoreU(f(hn::LoadU(dx, in)), dy, out);
    std::copy(out, out + (n - i), y + i);
  }
}

// Numbers are held within the range before they are converted, NaN at its lower bound.
template <class T>
HWY_INLINE void Quantize(const float* x, T* y, int64_t n, float factor, int32_t zero) {
  using Limits = std::numeric_limits<T>;
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::Rebind<T, decltype(d)> dt;
  const auto low = hn::Set(d, Limits::min()), high = hn::Set(d, Limits::max()),
             by = hn::Set(d, factor), z = hn::Set(d, static_cast<float>(zero));
  EachVector(d, dt, x, y, n, [&](auto v) {
    const auto moved = hn::Add(hn::Round(hn::Mul(v, by)), z);
    const auto above = hn::IfThenElse(hn::Ge(moved, low), moved, low);
    return hn::DemoteTo(dt, hn::ConvertTo(di, hn::Min(above, high)));
  });
}

template <class T>
HWY_INLINE void Dequantize(const T* x, float* y, int64_t n, float scale, int32_t zero) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> di;
  const hn::Rebind<T, decltype(d)> dt;
  const auto by = hn::Set(d, scale);
  const auto z = hn::Set(di, zero);
  EachVector(dt, d, x, y, n, [&](auto v) {
    return hn::Mul(hn::ConvertTo(d, hn::Sub(hn::PromoteTo(di, v), z)), by);
  });
}

void QuantizeU8(const float* x, uint8_t* y, int64_t n, float factor, int32_t zero) {
  Quantize(x, y, n, factor, zero);
}
void QuantizeS8(const float* x, int8_t* y, int64_t n, float factor, int32_t zero) {
  Quantize(x, y, n, factor, zero);
}
void DequantizeU8(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero) {
  Dequantize(x, y, n, scale, zero);
}
void DequantizeS8(const int8_t* x, float* y, int64_t n, float scale, int32_t zero) {
  Dequantize(x, y, n, scale, zero);
}

using Floats = hn::ScalableTag<float>;
using Ints = hn::Rebind<int32_t, Floats>;
using Octets = hn::Rebind<uint8_t, Floats>;

// Vectors of what does not change, since bytes that are written could be any of it.
struct Read {
  const hn::Vec<Octets> flip;
  const hn::Vec<Ints> zero;
  const hn::Vec<Floats> scale;
  explicit Read(const Bytes& of)
      : flip(hn::Set(Octets(), of.flip)),
        zero(hn::Set(Ints(), of.zero)),
        scale(hn::Set(Floats(), of.scale)) {}
  HWY_INLINE hn::Vec<Floats> operator()(hn::Vec<Octets> v) const {
    const auto integers = hn::PromoteTo(Ints(), hn::Xor(v, flip));
    return hn::Mul(hn::ConvertTo(Floats(), hn::Sub(integers, zero)), scale);
  }
};

// Held within [low, 255] first, so that adding 1.5 * 2^23 leaves the rounded integer in the low
// bits.
struct Write {
  static constexpr float kRounding = 12582912.0f;
  static constexpr int32_t kBits = 0x4B400000;  // of kRounding
  const hn::Vec<Octets> flip;
  const hn::Vec<Ints> zero;
  const hn::Vec<Floats> scale, least, most, rounding;
  Write(const Bytes& as, int32_t low)
      : flip(hn::Set(Octets(), as.flip)),
        zero(hn::Set(Ints(), as.zero - kBits)),
        scale(hn::Set(Floats(), as.scale)),
        least(hn::Set(Floats(), static_cast<float>(low - as.zero))),
        most(hn::Set(Floats(), static_cast<float>(255 - as.zero))),
        rounding(hn::Set(Floats(), kRounding)) {}
  HWY_INLINE hn::Vec<Octets> operator()(hn::Vec<Floats> v) const {
    const auto kept = hn::Min(hn::Max(hn::Mul(v, scale), least), most);
    const auto integers = hn::Add(hn::BitCast(Ints(), hn::Add(kept, rounding)), zero);
    const hn::RebindToUnsigned<Ints> du;
    return hn::Xor(hn::TruncateTo(Octets(), hn::BitCast(du, integers)), flip);
  }
};

template <bool kProduct>
HWY_INLINE void CombineBytes(const BytePair& q, const uint8_t* a, const uint8_t* b, uint8_t* y,
                             int64_t n) {
  const Octets du;
  const Read left(q.a), right(q.b);
  const Write write(q.y, q.relu ? q.y.zero : 0);
  const auto of = [&](hn::Vec<Octets> va, hn::Vec<Octets> vb) HWY_ATTR {
    const auto x = left(va), z = right(vb);
    return write(kProduct ? hn::Mul(x, z) : hn::Add(x, z));
  };
  if (q.b_step == 0) {
    const auto vb = hn::Set(du, *b);
    return EachVector(du, du, a, y, n, [&](auto va) HWY_ATTR { return of(va, vb); });
  }
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(du));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(of(hn::LoadU(du, a + i), hn::LoadU(du, b + i)), du, y + i);
  constexpr std::size_t kMaxLanes = hn::MaxLanes(Octets());
  if constexpr (kMaxLanes > 1) {
    if (i == n) return;
    uint8_t some[kMaxLanes] = {}, others[kMaxLanes] = {}, out[kMaxLanes];
    std::copy(a + i, a + n, some);
    std::copy(b + i, b + n, others);
    hn::StoreU(of(hn::LoadU(du, some), hn::LoadU(du, others)), du, out);
    std::copy(out, out + (n - i), y + i);
  }
}

void Combine(const BytePair& q, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  if (q.product)
    CombineBytes<true>(q, a, b, y, n);
  else
    CombineBytes<false>(q, a, b, y, n);
}

// A lookup in 16 bytes gives 0 where the upper bit of the index is set: in all rows of the table
// but that of the upper half of x.
template <class D>
HWY_INLINE hn::Vec<D> RowsOf(D d, const uint8_t* table, hn::Vec<D> x) {
  const auto index = hn::Set(d, uint8_t{0x8F});
  auto sum = hn::Zero(d);
  for (int row = 0; row < 16; ++row) {
    const auto low = hn::Xor(x, hn::Set(d, static_cast<uint8_t>(16 * row)));
    const auto at = hn::And(hn::SaturatedAdd(low, hn::Set(d, uint8_t{0x70})), index);
    sum = hn::Or(sum, hn::TableLookupBytesOr0(hn::LoadDup128(d, table + 16 * row), at));
  }
  return sum;
}

void LookUp(const uint8_t* table, uint8_t flip, const uint8_t* x, uint8_t* y, int64_t n) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_SSE2  // which would look up byte by byte
  const hn::ScalableTag<uint8_t> d;
  const auto flips = hn::Set(d, flip);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(RowsOf(d, table, hn::Xor(hn::LoadU(d, x + i), flips)), d, y + i);
#endif
  for (; i < n; ++i) y[i] = table[x[i] ^ flip];
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(QuantizeU8);
TENON_EXPORT(QuantizeS8);
TENON_EXPORT(DequantizeU8);
TENON_EXPORT(DequantizeS8);
TENON_EXPORT(Combine);
TENON_EXPORT(LookUp);

void quantize(const float* x, uint8_t* y, int64_t n, float factor, int32_t zero) {
  TENON_DISPATCH(QuantizeU8)(x, y, n, factor, zero);
}
void quantize(const float* x, int8_t* y, int64_t n, float factor, int32_t zero) {
  TENON_DISPATCH(QuantizeS8)(x, y, n, factor, zero);
}
void dequantize(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero) {
  TENON_DISPATCH(DequantizeU8)(x, y, n, scale, zero);
}
void dequantize(const int8_t* x, float* y, int64_t n, float scale, int32_t zero) {
  TENON_DISPATCH(DequantizeS8)(x, y, n, scale, zero);
}
void combine(const BytePair& q, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  TENON_DISPATCH(Combine)(q, a, b, y, n);
}
void look_up(const uint8_t* table, uint8_t flip, const uint8_t* x, uint8_t* y, int64_t n) {
  TENON_DISPATCH(LookUp)(table, flip, x, y, n);
}

}  // namespace tenon::cpu
#endif
