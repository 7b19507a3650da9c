// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The incomplete gamma functions, the derivatives of digamma, Hurwitz' zeta function and what comes
// from the normal distribution, computed in double on host and device.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/sdk/scalar_math.h"

namespace tenon::sdk::math {

namespace gamma {

inline constexpr int kSteps = 1 << 17;

// log of gamma(a) over Stirling's formula, a >= 10.
TN_HD inline double stirling_correction(double a) {
  const double r = 1 / (a * a);
  return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / a;
}

// x^a e^-x / gamma(a)
TN_HD inline double factor(double a, double x) {
  if (a < 10) return std::exp(a * std::log(x) - x - std::lgamma(a));
  const double d = (x - a) / a;
  return std::sqrt(a / (2 * 3.14159265358979323846)) *
         std::exp(a * (std::log1p(d) - d) - stirling_correction(a));
}

TN_HD inline double lower_series(double a, double x, double epsilon) {
  double sum = 1, term = 1;
  for (int n = 1; n < kSteps && term > sum * epsilon; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return factor(a, x) / a * sum;
}

// For small x, where 1 - lower would cancel.
TN_HD inline double upper_series(double a, double x, double epsilon) {
  double sum = 0, term = 1;
  for (int n = 1; n < kSteps; ++n) {
    term *= -x / n;
    sum += term / (a + n);
    if (std::abs(term / (a + n)) <= std::abs(sum) * epsilon) break;
  }
  const double power = a * std::log(x);
  return -std::expm1(power - std::lgamma(1 + a)) - std::exp(power - std::lgamma(a)) * sum;
}

// Legendre's continued fraction by Lentz' method.
TN_HD inline double upper_fraction(double a, double x, double epsilon) {
  const double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d;
  for (int n = 1; n < kSteps; ++n) {
    const double numerator = n * (a - n);
    b += 2;
    d = numerator * d + b;
    c = b + numerator / c;
    if (std::abs(d) < tiny) d = tiny;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    if (std::abs(d * c - 1) <= epsilon) break;
  }
  return factor(a, x) * h;
}

// The leading terms for large a, where the other methods would take too many iterations.
TN_HD inline double upper_asymptotic(double a, double x) {
  const double d = (x - a) / a, half = d - std::log1p(d);  // eta^2 / 2
  const double eta = std::copysign(std::sqrt(2 * half), d);
  const double correction = std::abs(d) < 1e-4 ? -1.0 / 3 + d / 12 : 1 / d - 1 / eta;
  return 0.5 * std::erfc(eta * std::sqrt(a / 2)) +
         std::exp(-a * half) / std::sqrt(2 * 3.14159265358979323846 * a) * correction;
}

TN_HD inline bool upper_is_small(double a, double x) {
  if (x <= 0.5) return -0.4 / std::log(x) >= a;
  if (x <= 1.1) return 0.75 * x >= a;
  return x > a;
}

// Sets *value if lower and upper are 0, 1 or NaN.
TN_HD inline bool is_limit_case(double a, double x, bool upper, double* value) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) {
    *value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  const bool all_lower = a == 0 || std::isinf(x);
  if (!all_lower && x > 0 && !std::isinf(a)) return false;
  *value = all_lower != upper ? 1 : 0;
  return true;
}

}  // namespace gamma

// The regularized lower or upper incomplete gamma function; sums end at terms of `epsilon`.
TN_HD inline double incomplete_gamma(double a, double x, bool upper, double epsilon) {
  double value;
  if (gamma::is_limit_case(a, x, upper, &value)) return value;
  if (a > 1e8) {
    value = gamma::upper_asymptotic(a, x);
    return upper ? value : 1 - value;
  }
  if (!gamma::upper_is_small(a, x)) {
    value = gamma::lower_series(a, x, epsilon);
    return upper ? 1 - value : value;
  }
  value = x <= 1.1 ? gamma::upper_series(a, x, epsilon) : gamma::upper_fraction(a, x, epsilon);
  return upper ? value : 1 - value;
}

// psi_n(x) = (-1)^(n+1) n! zeta(n + 1, x), by Hurwitz' zeta function.

// Ten terms, then Euler and Maclaurin's formula with B_2 to B_16. s > 1, x not far below zero, as
// the sum starts there.
TN_HD inline double hurwitz_zeta_near(double s, double x) {
  const double bernoulli_over_factorial[] = {1.0 / 12,          -1.0 / 720,
                                             1.0 / 30240,       -1.0 / 1209600,
                                             1.0 / 47900160,    -691.0 / 1307674368000,
                                             1.0 / 74724249600, -3617.0 / 10670622842880000};
  double sum = 0;
  for (int i = 0; i < 10 || x < 10; ++i, x += 1) {  // a large x does not grow by 1
    if (x == 0) return HUGE_VAL;
    sum += std::pow(x, -s);
  }
  const double last = std::pow(x, -s);
  if (last == 0) return sum;  // s may be infinite
  sum += std::pow(x, 1 - s) / (s - 1) + 0.5 * last;
  double factor = s * std::pow(x, -s - 1);
  for (int k = 0; k < 8; ++k) {
    sum += bernoulli_over_factorial[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
  }
  return sum;
}

// For integer s. Far below zero the terms are those in both directions from the nearest integer,
// less those before x.
TN_HD inline double hurwitz_zeta(double s, double x) {
  if (!(x < -16)) return hurwitz_zeta_near(s, x);
  const double off = x - std::nearbyint(x), sign = std::fmod(s, 2) == 0 ? 1 : -1;
  if (off == 0) return HUGE_VAL;
  const double above = hurwitz_zeta_near(s, 1 + off);
  const double below = hurwitz_zeta_near(s, 1 - off) - hurwitz_zeta_near(s, 1 - x);
  return std::pow(off, -s) + above + sign * below;
}

// By reflection below zero, about the nearest integer: far from zero the sine of pi x itself has no
// digits left. At a negative integer, a pole, ATen returns a large finite value, from the sine of
// the rounded argument in the precision of T, and so does this.
template <class T>
TN_HD double trigamma_below_zero(T given) {
  const double x = static_cast<double>(given), off = x - std::nearbyint(x),
               pi = 3.14159265358979323846;
  const double s =
      off == 0 ? static_cast<double>(std::sin(static_cast<T>(pi) * given)) : std::sin(pi * off);
  return pi * pi / (s * s) - hurwitz_zeta(2, 1 - x);
}

template <class T>
TN_HD double polygamma(int64_t n, T given) {
  const double x = static_cast<double>(given);
  if (n == 0) return digamma(x);
  if (n == 1 && x < 0) return trigamma_below_zero(given);
  if (x <= 0 && x == std::floor(x)) return n % 2 ? HUGE_VAL : -HUGE_VAL;
  const double sign = n % 2 ? 1 : -1, order = static_cast<double>(n);
  return sign * std::exp(std::lgamma(order + 1)) * hurwitz_zeta(order + 1, x);
}

// zeta(s, q), infinite at its poles. Below zero only integer powers are real. NaN for s < 1.
TN_HD inline double zeta(double s, double q) {
  if (s == 1) return HUGE_VAL;
  const bool real = s > 1 && q == q && (q > 0 || s == std::floor(s));
  if (s < 1 || (q <= 0 && q == std::floor(q))) return s < 1 ? NAN : HUGE_VAL;
  return real ? hurwitz_zeta(s, q) : NAN;
}

// e^(x^2), with the digits that the square lost.
TN_HD inline double exp_of_square(double x) {
  const double square = x * x, lost = std::fma(x, x, -square);
  return square < 700 ? std::exp(square) * (1 + lost) : std::exp(square);
}

// The asymptotic series of e^(x^2) erfc(x) from 10 on (DLMF 7.12.1).
TN_HD inline double erfcx_far(double x) {
  const double q = 0.5 / (x * x);
  double term = 1, sum = 1;
  for (int k = 1; k < 20; ++k) {
    term *= -(2 * k - 1) * q;
    sum += term;
  }
  return 0.56418958354775628695 / x * sum;
}

// e^(x^2) erfc(x)
TN_HD inline double erfcx(double x) {
  const double size = std::fabs(x);
  const double y = size < 10 ? exp_of_square(x) * std::erfc(size) : erfcx_far(size);
  return x < 0 ? 2 * exp_of_square(x) - y : y;
}

// The logarithm of the standard normal distribution function.
TN_HD inline double log_ndtr(double x) {
  const double t = x * 0.70710678118654752440;
  return x < -1 ? std::log(0.5 * erfcx(-t)) - t * t : std::log1p(-0.5 * std::erfc(t));
}

// Its inverse for p = 1/2 + q, |q| <= 1/4: the first terms of the series, then Halley's steps,
// where the second derivative is -x times the first.
TN_HD inline double ndtri_middle(double q) {
  const double w = 6.28318530717958647692 * q * q;
  double x = 2.50662827463100050242 * q * (1 + w * (1.0 / 6 + w * (7.0 / 120)));
  for (int i = 0; i < 2; ++i) {
    const double missing = 0.5 * std::erf(0.70710678118654752440 * x) - q;
    const double u = 2.50662827463100050242 * missing * std::exp(0.5 * x * x);
    x -= u / (1 + 0.5 * u * x);
  }
  return x;
}

// Outside of the middle A&S 26.2.23, then Halley's steps on the logarithm, whose derivative is s
// and whose second one -s (x + s).
TN_HD inline double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return NAN;
  if (std::fabs(p - 0.5) <= 0.25) return ndtri_middle(p - 0.5);
  const double tail = p < 0.5 ? p : 1 - p;
  if (tail == 0) return p == 0 ? -HUGE_VAL : HUGE_VAL;
  const double goal = std::log(tail), t = std::sqrt(-2 * goal);
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 2; ++i) {
    const double e = erfcx(-0.70710678118654752440 * x), s = 0.79788456080286535588 / e;
    const double u = (std::log(0.5 * e) - 0.5 * x * x - goal) / s;
    x -= u / (1 + 0.5 * u * (x + s));
  }
  return p < 0.5 ? x : -x;
}

// -x log x
TN_HD inline double entr(double x) {
  if (x > 0) return -x * std::log(x);
  return x == 0 ? 0 : x < 0 ? -HUGE_VAL : x;
}

TN_HD inline double xlog1py(double x, double y) {
  return y != y ? y : x == 0 ? 0 : x * std::log1p(y);
}

}  // namespace tenon::sdk::math
