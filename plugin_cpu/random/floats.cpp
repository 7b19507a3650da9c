// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Words to float32: uniform, normal, Bernoulli, dropout; a vector at a time.
#include "plugin_cpu/random/floats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/random/floats.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "hwy/contrib/math/math-inl.h"

#include "plugin_cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Box-Muller. The angle is a 24-bit fraction of a turn: its quadrant is computed exactly, in
// integers, and polynomials evaluate the rest, at most an eighth of a turn.
void NormalFloats(const uint32_t* HWY_RESTRICT words, int64_t n, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += 2 * lanes) {
    hn::Vec<decltype(du)> w0, w1;
    hn::LoadInterleaved2(du, words + i, w0, w1);
    const auto k0 = hn::BitCast(di, hn::ShiftRight<8>(w0)),
               k1 = hn::BitCast(di, hn::ShiftRight<8>(w1));
    const auto u = hn::Mul(hn::ConvertTo(d, hn::Add(k0, hn::Set(di, 1))), hn::Set(d, 0x1p-24f));
    const auto r = hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), hn::Log(d, u)));
    const auto quadrant = hn::ShiftRight<22>(hn::Add(k1, hn::Set(di, 1 << 21)));
    const auto rest = hn::Sub(k1, hn::ShiftLeft<22>(quadrant));
    const auto a = hn::Mul(hn::ConvertTo(d, rest),
                           hn::Set(d, static_cast<float>(1.57079632679489662 * 0x1p-22)));
    const auto z = hn::Mul(a, a);
    auto s = hn::MulAdd(hn::Set(d, -1.9515295891e-4f), z, hn::Set(d, 8.3321608736e-3f));
    s = hn::MulAdd(s, z, hn::Set(d, -1.6666654611e-1f));
    s = hn::MulAdd(hn::Mul(s, z), a, a);
    auto c = hn::MulAdd(hn::Set(d, 2.443315711809948e-5f), z, hn::Set(d, -1.388731625493765e-3f));
    c = hn::MulAdd(c, z, hn::Set(d, 4.166664568298827e-2f));
    c = hn::MulAdd(hn::Mul(c, z), z, hn::MulAdd(hn::Set(d, -0.5f), z, hn::Set(d, 1.0f)));
    const auto one = hn::Set(di, 1);
    const auto swap = hn::RebindMask(d, hn::Eq(hn::And(quadrant, one), one));
    const auto sine = hn::IfThenElse(swap, c, s), cosine = hn::IfThenElse(swap, s, c);
    // Bit 1 of the quadrant is the sign of the sine; of the next quadrant, that of the cosine.
    const auto two = hn::Set(di, 2);
    const auto minus_sine = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(quadrant, two)));
    const auto minus_cosine =
        hn::BitCast(d, hn::ShiftLeft<30>(hn::And(hn::Add(quadrant, one), two)));
    hn::StoreInterleaved2(hn::Mul(r, hn::Xor(cosine, minus_cosine)),
                          hn::Mul(r, hn::Xor(sine, minus_sine)), d, out + i);
  }
}

// The first n of f(i), a vector at a time; f may read past n.
template <class D, class F>
HWY_INLINE void store_each(D d, int64_t n, float* HWY_RESTRICT out, F f) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(i), d, out + i);
  if (i < n) store_first(f(i), d, n - i, out + i);
}

void UniformFloats(const uint32_t* HWY_RESTRICT words, int64_t n, float low, float range,
                   float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  store_each(d, n, out, [&](int64_t i) HWY_ATTR {
    const auto bits = hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, words + i)));
    const auto u = hn::Mul(hn::ConvertTo(d, bits), hn::Set(d, 0x1p-24f));
    return hn::MulAdd(u, hn::Set(d, range), hn::Set(d, low));
  });
}

void BernoulliFloats(const uint32_t* HWY_RESTRICT words, int64_t n, uint32_t limit,
                     float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto bound = hn::Set(di, static_cast<int32_t>(limit));
  store_each(d, n, out, [&](int64_t i) HWY_ATTR {
    const auto hit = hn::Lt(hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, words + i))), bound);
    return hn::IfThenElseZero(hn::RebindMask(d, hit), hn::Set(d, 1.0f));
  });
}

void DropoutFloats(const uint32_t* HWY_RESTRICT words, const float* HWY_RESTRICT x,
                   float* HWY_RESTRICT out, uint8_t* HWY_RESTRICT keep, int64_t n, uint32_t limit,
                   float scale) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<uint8_t, decltype(d)> bytes;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto bound = hn::Set(di, static_cast<int32_t>(limit));
  const auto factor = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto kept = hn::Lt(hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, words + i))), bound);
    hn::StoreU(hn::IfThenElseZero(hn::RebindMask(d, kept), hn::Mul(hn::LoadU(d, x + i), factor)), d,
               out + i);
    hn::StoreU(hn::DemoteTo(bytes, hn::IfThenElseZero(kept, hn::Set(di, 1))), bytes, keep + i);
  }
  for (; i < n; ++i) {
    keep[i] = (words[i] >> 8) < limit;
    out[i] = keep[i] ? x[i] * scale : 0.0f;
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
TENON_EXPORT(NormalFloats);
TENON_EXPORT(UniformFloats);
TENON_EXPORT(BernoulliFloats);
TENON_EXPORT(DropoutFloats);
void normal_floats(const uint32_t* words, int64_t n, float* out) {
  TENON_DISPATCH(NormalFloats)(words, n, out);
}
void uniform_floats(const uint32_t* words, int64_t n, float low, float range, float* out) {
  TENON_DISPATCH(UniformFloats)(words, n, low, range, out);
}
void bernoulli_floats(const uint32_t* words, int64_t n, uint32_t limit, float* out) {
  TENON_DISPATCH(BernoulliFloats)(words, n, limit, out);
}
void dropout_floats(const uint32_t* words, const float* x, float* out, uint8_t* keep, int64_t n,
                    uint32_t limit, float scale) {
  TENON_DISPATCH(DropoutFloats)(words, x, out, keep, n, limit, scale);
}
}  // namespace tenon::cpu
#endif
