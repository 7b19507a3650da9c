// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// exp, log, tanh, sigmoid, erf, erfc of float vectors, and what is built from them for both types. The coefficients are
// Chebyshev fits made for these ranges. Included by vec-inl.h, once a target.
HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// 2^n for n in [-126, 127], given as a whole float.
TN_V Vec<float> power_of_two(Vec<float> n) {
  const hn::RebindToSigned<Vec<float>::D> di;
  const auto bits = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n.v), hn::Set(di, 127)));
  return Vec<float>(hn::BitCast(Vec<float>::D(), bits));
}

// x = n ln2 + r; e^r by a polynomial; 2^n in two factors, so that subnormal results round once.
TN_V Vec<float> exp(Vec<float> x) {
  using F = Vec<float>;
  const F in = select(x > F(89.0f), F(89.0f), select(x < F(-105.0f), F(-105.0f), x));
  const F n = round(in * F(1.44269504f));
  F r = fma(n, F(-0.693145752f), in);
  r = fma(n, F(-1.42860677e-6f), r);
  const F q = polynomial<float>(r, 0.0013926926614, 0.00836377387441, 0.0416665501103, 0.166665733819, 0.5);
  const F p = F(1.0f) + fma(r * r, q, r);
  const F half = floor(n * F(0.5f));
  return select(x == x, p * power_of_two(half) * power_of_two(n - half), x);
}

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
  const F q = polynomial<float>(f, 0.0698070195866, -0.114945466129, 0.116890711375, -0.124240377177, 0.142485512644,
                                -0.166678509729, 0.200007305039, -0.249999966269, 0.333333311219);
  F r = fma(ef, F(-2.12194440e-4f), f * s * q);
  r = fma(s, F(-0.5f), r) + f;
  r = fma(ef, F(0.693359375f), r);
  r = select(x == F(0.0f), F(-HUGE_VALF), select(x == F(HUGE_VALF), x, r));
  return select(x >= F(0.0f), r, F(NAN));
}

TN_V Vec<float> tanh(Vec<float> x) {
  using F = Vec<float>;
  const F a = abs(x), s = x * x;
  const F q = polynomial<float>(s, 0.00224600368559, -0.00830169536064, 0.0217557003459, -0.0539575951325,
                                0.133332963528, -0.333333331234);
  const F small = fma(x * s, q, x);
  const F large = F(1.0f) - F(2.0f) / (exp(a + a) + F(1.0f));
  return select(a < F(0.64f), small, copysign(large, select(x == x, x, large)));
}

// e^(-s/k) and the rest of x * x that s = round(x * x) lost: e^-(x * x / k) to full precision.
TN_V Vec<float> exp_minus_square(Vec<float> x, float scale) {
  using F = Vec<float>;
  const hn::RebindToSigned<F::D> di;
  const F high(hn::BitCast(F::D(), hn::And(hn::BitCast(di, x.v), hn::Set(di, -4096))));
  const F low = x - high, s = x * x;
  const F rest = fma(low, low, fma(F(2.0f) * high, low, high * high - s));
  return exp(F(-scale) * s) * fma(F(-scale), rest, F(1.0f));
}

// erfc(z) e^(z^2) for z >= 0.
TN_V Vec<float> erfc_scaled(Vec<float> z) {
  using F = Vec<float>;
  const F t = (z - F(2.0f)) / (z + F(2.0f));
  const F q = polynomial<float>(t, 2.29956845443e-5, -0.000370280980977, -0.00125095371169, 0.00128016805952,
                                0.00863850708975, -0.00804737348071, -0.0542054161116, 0.16405359361, -0.166031324308,
                                -0.0927639156966, 1.27697839149);
  return q / fma(F(2.0f), z, F(1.0f));
}

// erfc(|x| sqrt(scale)), given z = |x| sqrt(scale).
TN_V Vec<float> erfc_tail(Vec<float> x, Vec<float> z, float scale) {
  using F = Vec<float>;
  const F r = exp_minus_square(x, scale) * erfc_scaled(z);
  return select(z > F(10.2f), F(0.0f), r);
}

TN_V Vec<float> erf(Vec<float> x) {
  using F = Vec<float>;
  const F a = abs(x), s = x * x;
  const F q = polynomial<float>(s, 8.33471861521e-5, -0.000813470933212, 0.00520036858686, -0.0268591514724,
                                0.112836915197, -0.376126335171, 0.12837916662);
  const F large = copysign(F(1.0f) - erfc_tail(x, a, 1.0f), x);
  return select(a < F(0.92f), fma(x, q, x), select(x == x, large, x));
}

TN_V Vec<float> erfc(Vec<float> x) {
  using F = Vec<float>;
  const F a = abs(x), tail = erfc_tail(x, a, 1.0f);
  const F r = select(x < F(0.0f), F(2.0f) - tail, tail);
  return select(a < F(0.5f), F(1.0f) - erf(x), select(x == x, r, x));
}

// The standard normal distribution function, to full relative precision on both sides.
TN_V Vec<float> normal_cdf(Vec<float> x) {
  using F = Vec<float>;
  const F tail = F(0.5f) * erfc_tail(x, abs(x) * F(0.707106781f), 0.5f);
  return select(x < F(0.0f), tail, select(x == x, F(1.0f) - tail, x));
}
TN_V Vec<double> normal_cdf(Vec<double> x) { return Vec<double>(0.5) * erfc(x * Vec<double>(-0.70710678118654752440)); }

template <class T>
TN_V Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> e = exp(-abs(x));
  return select(x < Vec<T>(0), e, Vec<T>(1)) / (Vec<T>(1) + e);
}

// log(1 + e^-|x|): the smooth part of softplus and log_sigmoid.
template <class T>
TN_V Vec<T> log1p_exp_minus_abs(Vec<T> x) {
  return log1p(exp(-abs(x)));
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
