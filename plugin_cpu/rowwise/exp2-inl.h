// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Powers of two for attention. Included once per target.
#if defined(TENON_CPU_EXP2_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_EXP2_INL_H_
#undef TENON_CPU_EXP2_INL_H_
#else
#define TENON_CPU_EXP2_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^x for x <= 0, to 1 ULP; 0 from -127 on, NaN of NaN. The coefficients are a Chebyshev fit on
// [-1/2, 1/2]. Added to 3 * 2^22 + 127, x is an integer, an exponent's bits.
template <class D, class V>
HWY_INLINE V exp2_of(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V magic = hn::Set(d, 12582912.0f + 127.0f);
  const V lowest = hn::Set(d, -127.0f);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  x = hn::Max(lowest, x);  // of NaN the second
#else
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
#endif
  const V whole = hn::Add(x, magic), f = hn::Sub(x, hn::Sub(whole, magic));
  V y = hn::Set(d, 0.0001547630023f);
  for (float c :
       {0.001340026966f, 0.00961800389f, 0.05550327791f, 0.2402265135f, 0.6931472062f, 1.0f}) {
    y = hn::MulAdd(y, f, hn::Set(d, c));
  }
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(du, whole))));
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
