// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// exp, log, tanh, sigmoid, erf, erfc of float vectors, and what is built from them for both types.
// The coefficients are Chebyshev fits made for these ranges. Included by vec-inl.h, once per
// target.
HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// 2^n for n in [-126, 127], given as an integral float.
TN_V Vec<float> power_of_two(Vec<float> n) {
  const hn::RebindToSigned<Vec<float>::D> di;
  // The low bits are n + 127.
  const auto shifted = hn::BitCast(di, (n + Vec<float>(12582912.0f + 127.0f)).v);
  return Vec<float>(hn::BitCast(Vec<float>::D(), hn::ShiftLeft<23>(shifted)));
}

// x 2^n, rounded once where x is about 1, for n in [-252, 252].
TN_V Vec<float> scale(Vec<float> x, Vec<float> n) {
#if HWY_TARGET == HWY_AVX3
  return Vec<float>(Vec<float>::V{_mm512_scalef_ps(x.v.raw, n.v.raw)});
#else
  const Vec<float> half = floor(n * Vec<float>(0.5f));
  return x * power_of_two(half) * power_of_two(n - half);
#endif
}

// Bounds that let NaN through: x86's instructions return their second operand then.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
TN_V Vec<float> at_most(float bound, Vec<float> x) {
  return Vec<float>(hn::Min(Vec<float>(bound).v, x.v));
}
TN_V Vec<float> at_least(float bound, Vec<float> x) {
  return Vec<float>(hn::Max(Vec<float>(bound).v, x.v));
}
#else
TN_V Vec<float> at_most(float bound, Vec<float> x) {
  return select(x > Vec<float>(bound), Vec<float>(bound), x);
}
TN_V Vec<float> at_least(float bound, Vec<float> x) {
  return select(x < Vec<float>(bound), Vec<float>(bound), x);
}
#endif

#if !HWY_NATIVE_FMA
// The upper 12 bits of x.
TN_V Vec<float> upper(Vec<float> x) {
  const hn::RebindToSigned<Vec<float>::D> di;
  return Vec<float>(
      hn::BitCast(Vec<float>::D(), hn::And(hn::BitCast(di, x.v), hn::Set(di, -4096))));
}
#endif

// x y - p: what p = round(x y) lost.
TN_V Vec<float> product_rest(Vec<float> x, Vec<float> y, Vec<float> p) {
#if HWY_NATIVE_FMA
  return Vec<float>(hn::MulSub(x.v, y.v, p.v));
#else
  const Vec<float> xh = upper(x), yh = upper(y), xl = x - xh, yl = y - yh;
  return xl * yl + (xl * yh + (xh * yl + (xh * yh - p)));
#endif
}

// e^x = (1 + m) 2^n with |m| < 0.42: a caller may add or multiply before m is rounded into 1 + m.
struct Power {
  Vec<float> m, n;
};

// x = n ln2 + r, for |x| < 2^20; `low` is what x has lost.
TN_V Power power(Vec<float> x, Vec<float> low) {
  using F = Vec<float>;
  const F n = fma(x, F(1.44269504f), F(12582912.0f)) - F(12582912.0f);
  const F r = fma(n, F(-0.693145752f), x) + fma(n, F(-1.42860677e-6f), low);
  const F q =
      polynomial<float>(r, 0.0013926926614, 0.00836377387441, 0.0416665501103, 0.166665733819, 0.5);
  return {fma(r * r, q, r), n};
}

TN_V Vec<float> exp(Vec<float> x) {
  const Power p = power(at_most(89.0f, at_least(-105.0f, x)), Vec<float>(0.0f));
  return scale(Vec<float>(1.0f) + p.m, p.n);
}

#if HWY_TARGET == HWY_AVX3
// x = m 2^e with m in [3/4, 3/2). The instructions know zero, infinity and denormal numbers: e is
// infinite then, and m of a negative number is NaN.
TN_V Vec<float> log(Vec<float> x) {
  using F = Vec<float>;
  const __m512 m = _mm512_getmant_ps(x.v.raw, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  const F e(F::V{_mm512_sub_ps(_mm512_getexp_ps(x.v.raw), _mm512_getexp_ps(m))});
  const F f = F(F::V{m}) - F(1.0f), s = f * f;
  const F q = polynomial<float>(f, 0.0376729186195, -0.0911619060143, 0.117006613366,
                                -0.127277786874, 0.142762386886, -0.166552966037, 0.199996048679,
                                -0.25000165269, 0.333333398617);
  // ln 2 in two floats of one sign, so that an infinite e stays one.
  const F r = fma(s, F(-0.5f), fma(e, F(5.76999904754e-8f), f * s * q)) + f;
  return fma(e, F(0.693147122860f), r);
}
#else
// x = m 2^e with m in [sqrt(1/2), sqrt(2)).
TN_V Vec<float> log(Vec<float> x) {
  using F = Vec<float>;
  const Vec<float>::D d;
  const hn::RebindToSigned<Vec<float>::D> di;
  const auto tiny = x < F(1.17549435e-38f);
  const F y = select(tiny, x * F(8388608.0f), x);
  const auto bits = hn::BitCast(di, y.v);
  const auto offset = hn::Sub(bits, hn::Set(di, 0x3f3504f3));
  const auto e = hn::ShiftRight<23>(offset);
  const F m(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))));
  const F ef = F(hn::ConvertTo(d, e)) - select(tiny, F(23.0f), F(0.0f));
  const F f = m - F(1.0f), s = f * f;
  const F q = polynomial<float>(f, 0.0698070195866, -0.114945466129, 0.116890711375,
                                -0.124240377177, 0.142485512644, -0.166678509729, 0.200007305039,
                                -0.249999966269, 0.333333311219);
  F r = fma(ef, F(-2.12194440e-4f), f * s * q);
  r = fma(s, F(-0.5f), r) + f;
  r = fma(ef, F(0.693359375f), r);
  r = select(x == F(0.0f), F(-HUGE_VALF), select(x == F(HUGE_VALF), x, r));
  return select(x >= F(0.0f), r, F(NAN));
}
#endif

#if HWY_TARGET == HWY_AVX3
// table[i mod 32]
TN_V Vec<float> look_up(const float (&table)[32], __m512i i) {
  return Vec<float>(Vec<float>::V{
      _mm512_permutex2var_ps(_mm512_loadu_ps(table), i, _mm512_loadu_ps(table + 16))});
}

TN_V Vec<float> tanh(Vec<float> x) {
  using F = Vec<float>;
  const F a = at_most(kTanhEnd, abs(x)), k = fma(a, F(1 / kTanhStep), F(12582912.0f));
  const F r = fma(k - F(12582912.0f), F(-kTanhStep), a);
  const __m512i column = _mm512_castps_si512(k.v.raw);
  F q = look_up(kTanh[6], column);
  for (int i = 5; i >= 0; --i) q = fma(q, r, look_up(kTanh[i], column));
  return copysign(q, x);
}
#else
TN_V Vec<float> tanh(Vec<float> x) {
  using F = Vec<float>;
  const F a = abs(x), s = x * x;
  const F q = polynomial<float>(s, 0.00224600368559, -0.00830169536064, 0.0217557003459,
                                -0.0539575951325, 0.133332963528, -0.333333331234);
  const F small = fma(x * s, q, x);
  const Power p = power(at_most(20.0f, a + a), F(0.0f));  // 2 / (e^2a + 1)
  const F t = power_of_two(p.n), large = F(1.0f) - F(2.0f) / fma(p.m, t, F(1.0f) + t);
  return copysign(select(a < F(0.64f), small, large), x);
}
#endif

// y / (1 + e^-(x + low)), with one rounding before and one of the quotient.
TN_V Vec<float> over_one_plus_exp(Vec<float> y, Vec<float> x, Vec<float> low) {
  using F = Vec<float>;
  const Power p = power(-at_most(20.0f, at_least(-115.0f, x)), -low);
  const F t = power_of_two(at_least(-126.0f, -p.n)), d = F(1.0f) + t, d_low = t - (d - F(1.0f));
  return scale(y / (d + (p.m + d_low)), -p.n);
}

TN_V Vec<float> sigmoid(Vec<float> x) {
  return over_one_plus_exp(Vec<float>(1.0f), x, Vec<float>(0.0f));
}

// x sigmoid(x (c0 + c1 x^2)), whose argument is a sum of two floats: an error in it grows with its
// size.
TN_V Vec<float> gelu_tanh(Vec<float> x) {
  using F = Vec<float>;
  const F c0(1.59576917f), c0_low(-4.35038e-8f), c1(0.0713548139f), c1_low(2.38088e-9f);
  const F a = at_most(12.0f, at_least(-12.0f, x)), s = a * a, p = c1 * s;
  const F p_low = fma(c1, product_rest(a, a, s), fma(c1_low, s, product_rest(c1, s, p)));
  const F q = c0 + p, back = q - c0, q_low = (c0 - (q - back)) + (p - back);
  const F u = a * q;
  const F y = over_one_plus_exp(at_least(-12.0f, x), u,
                                fma(a, q_low + (p_low + c0_low), product_rest(a, q, u)));
  return select(x == F(-HUGE_VALF), F(NAN), y);
}

// y f(a) e^(-half a^2) for a in [0, 15] or NaN, with f(a) = u P(v), u = 1 / (a + k) and v = u - 1 /
// (2 k). Whatever a product or a sum loses is carried along: that u is off by a factor of 1 + e
// goes into v and the exponent.
template <class... C>
TN_V Vec<float> gauss_tail(Vec<float> y, Vec<float> a, float half, float k, double c0, C... c) {
  using F = Vec<float>;
  const F s = a * a, d = a + F(k), d_low = a - (d - F(k));
#if HWY_TARGET == HWY_AVX3
  const F u(hn::ApproximateReciprocal(d.v));
#else
  const F u = F(1.0f) / d;
#endif
  const F e = -fma(u, d_low, product_rest(u, d, F(1.0f)));
  const F v = fma(u, e, u - F(0.5f / k)), q = polynomial<float>(v, c...);
  const F first(static_cast<float>(c0)), f = fma(v, q, first);
  const F f_low = fma(v, q, first - f) + F(c0 - static_cast<double>(static_cast<float>(c0)));
  const F w = u * f, w_low = fma(u, f_low, product_rest(u, f, w));
  const F z = y * w, z_low = fma(y, w_low, product_rest(y, w, z));
  const Power p = power(F(-half) * s, fma(F(-half), product_rest(a, a, s), e));
  return scale(z + fma(z, p.m, z_low), p.n);
}

// y erfc(z), z in [0.7, 10.5]
TN_V Vec<float> erfc_tail(Vec<float> y, Vec<float> z) {
  return gauss_tail(y, z, 1.0f, 2.0f, 1.0215827052, 127.945055855, -15.9266175078, -42.9348996388,
                    13.8673669036, 12.6548072527, -6.63618272043, -5.5067230841, 2.33230912826,
                    4.47155352499, 2.74864273006);
}

// y times the upper tail of the standard normal distribution at a, a in [0, 14.6] or NaN
TN_V Vec<float> normal_tail_far(Vec<float> y, Vec<float> a) {
  return gauss_tail(y, a, 0.5f, 4.0f, 0.755285138535, 16577.9504434, 3247.91921013, -3289.98014259,
                    -923.546919241, 246.639271814, 247.424686473, 95.4998106709, 24.7767475124,
                    4.86317282929);
}

#if HWY_TARGET == HWY_AVX3
// The same from a table within its range; few vectors of activations exceed it. A lane's value does
// not depend on its neighbors'.
TN_V Vec<float> normal_tail(Vec<float> y, Vec<float> a) {
  using F = Vec<float>;
  const __m512i eighths = _mm512_castps_si512((a + F(1048576.0f)).v.raw);
  const F r = a - look_up(kNormalTailCenter, eighths);
  F q = look_up(kNormalTail[5], eighths);
  for (int i = 4; i >= 0; --i) q = fma(q, r, look_up(kNormalTail[i], eighths));
  const F near = y * q;
  const auto reached = a < F(kNormalTailEnd);
  if (HWY_LIKELY(hn::AllTrue(F::D(), reached.m))) return near;
  return select(reached, near, normal_tail_far(y, a));
}
#else
TN_V Vec<float> normal_tail(Vec<float> y, Vec<float> a) { return normal_tail_far(y, a); }
#endif

// erf(x) = x + x q for |x| < 0.92
TN_V Vec<float> erf_q(Vec<float> x) {
  return polynomial<float>(x * x, 8.33471861521e-5, -0.000813470933212, 0.00520036858686,
                           -0.0268591514724, 0.112836915197, -0.376126335171, 0.12837916662);
}

TN_V Vec<float> erf(Vec<float> x) {
  using F = Vec<float>;
  const F a = abs(x), large = copysign(F(1.0f) - erfc_tail(F(1.0f), at_most(10.5f, a)), x);
  return select(a < F(0.92f), fma(x, erf_q(x), x), large);
}

TN_V Vec<float> erfc(Vec<float> x) {
  using F = Vec<float>;
  const F a = abs(x), tail = erfc_tail(F(1.0f), at_most(10.5f, a));
  const F small = fma(-x, erf_q(x), F(1.0f) - x);
  return select(a < F(0.7f), small, select(x < F(0.0f), F(2.0f) - tail, tail));
}

// The standard normal distribution function, to full relative precision on both sides.
TN_V Vec<float> normal_cdf(Vec<float> x) {
  using F = Vec<float>;
  const F tail = normal_tail(F(1.0f), at_most(14.6f, abs(x)));
  return select(x < F(0.0f), tail, F(1.0f) - tail);
}
TN_V Vec<double> normal_cdf(Vec<double> x) {
  return Vec<double>(0.5) * erfc(x * Vec<double>(-0.70710678118654752440));
}

// x normal_cdf(x); g(x) = x + g(-x).
TN_V Vec<float> gelu_erf(Vec<float> x) {
  using F = Vec<float>;
  const F a = at_most(14.6f, abs(x));
  const F y = at_least(0.0f, x) - normal_tail(a, a);
  return select(x == F(-HUGE_VALF), F(NAN), y);
}
TN_V Vec<double> gelu_erf(Vec<double> x) { return x * normal_cdf(x); }

TN_V Vec<double> sigmoid(Vec<double> x) {
  const Vec<double> e = exp(-abs(x));
  return select(x < Vec<double>(0), e, Vec<double>(1)) / (Vec<double>(1) + e);
}

TN_V Vec<double> gelu_tanh(Vec<double> x) {
  return x * sigmoid(Vec<double>(1.5957691216057308) * (x + Vec<double>(0.044715) * x * x * x));
}

// These two as in tenon/sdk/scalar_math.h.
template <class T>
TN_V Vec<T> silu_slope(Vec<T> a) {
  using V = Vec<T>;
  const V tail = sigmoid(-abs(a));
  return select(a > V(0), V(1) - tail, tail) + a * tail * (V(1) - tail);
}
template <class T>
TN_V Vec<T> gelu_tanh_slope(Vec<T> a) {
  using V = Vec<T>;
  const V x = minimum(maximum(a, V(-30)), V(14)), square = x * x;
  const V u = V(1.5957691216057308) * (x + V(0.044715) * square * x), tail = sigmoid(-abs(u));
  return select(u > V(0), V(1) - tail, tail) +
         x * tail * (V(1) - tail) * (V(1.5957691216057308) + V(0.214064448817800746) * square);
}

template <class T>
TN_V Vec<T> silu(Vec<T> x) {
  const Vec<T> y = x * sigmoid(x);
  const auto far = x <= Vec<T>(-80);
  if (HWY_LIKELY(hn::AllFalse(typename Vec<T>::D(), far.m))) return y;
  const Vec<T> half = exp(x * Vec<T>(0.5));
  return select(far, x * half * half, y);
}

// e^a / 2, where e^a may overflow. `high` is a little above ln 2 and has few bits, so that a - high
// is exact.
template <class T>
TN_V Vec<T> half_exp(Vec<T> a) {
  constexpr double high = 45427.0 / 65536, rest = 1.383027787960190264e-05;  // e^(high - ln 2) - 1
  const Vec<T> e = exp(a - Vec<T>(high));
  return fma(e, Vec<T>(rest), e);
}
// SLEEF's end where e^|x| does, ln 2 before the results do.
template <class T>
TN_V auto near_end(Vec<T> a) {
  return a > Vec<T>(std::is_same_v<T, float> ? 88 : 709);
}
template <class T>
TN_V Vec<T> sinh(Vec<T> x) {
  const Vec<T> a = abs(x), below = sinh_below_end(x);
  const auto end = near_end(a);
  if (HWY_LIKELY(hn::AllFalse(typename Vec<T>::D(), end.m))) return below;
  return select(end, copysign(half_exp(a), x), below);
}
template <class T>
TN_V Vec<T> cosh(Vec<T> x) {
  const Vec<T> a = abs(x), below = cosh_below_end(x);
  const auto end = near_end(a);
  if (HWY_LIKELY(hn::AllFalse(typename Vec<T>::D(), end.m))) return below;
  return select(end, half_exp(a), below);
}

// log(1 + e^-|x|): the smooth part of softplus and log_sigmoid.
template <class T>
TN_V Vec<T> log1p_exp_minus_abs(Vec<T> x) {
  return log1p(exp(-abs(x)));
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
