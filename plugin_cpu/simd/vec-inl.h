// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Vec<T>: a Highway vector of float or double with operators and the functions of scalar_math.h
// under the same names, so that one templated expression works on elements and vectors. Included
// once per target.
//
// float: exp, log, tanh, sigmoid, erf, erfc are polynomials of our own (vec_float-inl.h). The rest,
// and double, calls SLEEF's 1.0 ULP functions, one lane at a time from libm where the target is the
// baseline.
#if defined(TENON_CPU_VEC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_VEC_INL_H_
#undef TENON_CPU_VEC_INL_H_
#else
#define TENON_CPU_VEC_INL_H_
#endif

#include "hwy/highway.h"
#include "isa/tanh_table.h"
#include "plugin_cpu/simd/normal_tail.h"
#include "tenon/sdk/scalar_math.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#define TN_V static HWY_INLINE
#define TN_F HWY_INLINE

template <class T>
struct Vec {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  V v;

  HWY_INLINE Vec() : v(hn::Zero(D())) {}
  HWY_INLINE explicit Vec(V x) : v(x) {}
  template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>
  HWY_INLINE Vec(N x) : v(hn::Set(D(), static_cast<T>(x))) {}
  TN_V Vec load(const T* p) { return Vec(hn::LoadU(D(), p)); }
  HWY_INLINE void store(T* p) const { hn::StoreU(v, D(), p); }
  TN_V int64_t lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

  struct Mask {
    M m;
    friend HWY_INLINE Mask operator&(Mask a, Mask b) { return {hn::And(a.m, b.m)}; }
    friend HWY_INLINE Mask operator|(Mask a, Mask b) { return {hn::Or(a.m, b.m)}; }
    friend HWY_INLINE Mask operator!(Mask a) { return {hn::Not(a.m)}; }
  };

  friend HWY_INLINE Vec operator+(Vec a, Vec b) { return Vec(hn::Add(a.v, b.v)); }
  friend HWY_INLINE Vec operator-(Vec a, Vec b) { return Vec(hn::Sub(a.v, b.v)); }
  friend HWY_INLINE Vec operator*(Vec a, Vec b) { return Vec(hn::Mul(a.v, b.v)); }
  friend HWY_INLINE Vec operator/(Vec a, Vec b) { return Vec(hn::Div(a.v, b.v)); }
  friend HWY_INLINE Vec operator-(Vec a) { return Vec(hn::Neg(a.v)); }
  friend HWY_INLINE Mask operator<(Vec a, Vec b) { return {hn::Lt(a.v, b.v)}; }
  friend HWY_INLINE Mask operator<=(Vec a, Vec b) { return {hn::Le(a.v, b.v)}; }
  friend HWY_INLINE Mask operator>(Vec a, Vec b) { return {hn::Gt(a.v, b.v)}; }
  friend HWY_INLINE Mask operator>=(Vec a, Vec b) { return {hn::Ge(a.v, b.v)}; }
  friend HWY_INLINE Mask operator==(Vec a, Vec b) { return {hn::Eq(a.v, b.v)}; }
  // As in C++ true for NaN, where Highway's Ne is false with AVX-512.
  friend HWY_INLINE Mask operator!=(Vec a, Vec b) { return {hn::Not(hn::Eq(a.v, b.v))}; }
  friend HWY_INLINE Vec select(Mask c, Vec a, Vec b) { return Vec(hn::IfThenElse(c.m, a.v, b.v)); }
  friend HWY_INLINE Vec abs(Vec a) { return Vec(hn::Abs(a.v)); }
  friend HWY_INLINE Vec sqrt(Vec a) { return Vec(hn::Sqrt(a.v)); }
  friend HWY_INLINE Vec floor(Vec a) { return Vec(hn::Floor(a.v)); }
  friend HWY_INLINE Vec round(Vec a) { return Vec(hn::Round(a.v)); }
  friend HWY_INLINE Vec copysign(Vec a, Vec s) { return Vec(hn::CopySign(a.v, s.v)); }
  friend HWY_INLINE Vec fma(Vec a, Vec b, Vec c) { return Vec(hn::MulAdd(a.v, b.v, c.v)); }
  friend HWY_INLINE Mask isnan(Vec a) { return {hn::IsNaN(a.v)}; }
  // NaN propagates; if the bounds cross, the upper one is returned.
  friend HWY_INLINE Vec maximum(Vec a, Vec b) { return select((a > b) | (a != a), a, b); }
  friend HWY_INLINE Vec minimum(Vec a, Vec b) { return select((a < b) | (a != a), a, b); }
  // minimum(maximum(x, low), high); the bounds are not NaN.
  friend HWY_INLINE Vec clamp(Vec x, Vec low, Vec high) {
#if HWY_ARCH_X86  // whose instructions give the second operand if one is NaN
    return Vec(hn::Min(high.v, hn::Max(low.v, x.v)));
#else
    return minimum(maximum(x, low), high);
#endif
  }
};

// c[0] x^(n-1) + ... + c[n-1]
template <class T, class... C>
TN_V Vec<T> polynomial(Vec<T> x, C... c) {
  const T k[] = {static_cast<T>(c)...};
  Vec<T> y(k[0]);
  for (std::size_t i = 1; i < sizeof...(C); ++i) y = fma(y, x, Vec<T>(k[i]));
  return y;
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "plugin_cpu/simd/vec_sleef-inl.h"

#include "plugin_cpu/simd/vec_float-inl.h"  // calls the functions above

#endif
