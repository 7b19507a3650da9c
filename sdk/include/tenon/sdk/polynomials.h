// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Orthogonal polynomials of degree n at x (DLMF 18.3), in double on host and device. As in ATen a
// fractional degree is truncated, a negative one or none gives 0, and a recurrence that overflows
// gives NaN.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tenon/sdk/hd.h"

namespace tenon::sdk::math {

namespace polynomial {

// Above these degrees: closed forms of Chebyshev's polynomials, NaN for Hermite's, which do not fit
// double, and NaN for Laguerre's and Legendre's, whose recurrences take a step per degree.
inline constexpr int64_t kChebyshevSteps = 1024, kHermiteDegree = 512, kSteps = 1 << 20;
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// -1 if there is none.
TN_HD inline int64_t degree(double n) {
  const double whole = std::trunc(n);
  return whole >= 0 && whole < 0x1p63 ? static_cast<int64_t>(whole) : -1;
}

TN_HD inline double sign_of(int64_t n) { return n % 2 == 0 ? 1 : -1; }

// Quotients of functions of n times an angle (DLMF 18.5.1 to 18.5.4): x is its cosine, or its
// hyperbolic one. At -x the third and the fourth kind change places (DLMF 18.7.5 and 18.7.6).
TN_HD inline double chebyshev_between(char kind, double x, double n) {
  const double angle = std::acos(x);
  switch (kind) {
    case 'T':
      return std::cos(n * angle);
    case 'U':
      return std::sin((n + 1) * angle) / std::sin(angle);
    case 'V':
      return std::cos((n + 0.5) * angle) / std::cos(0.5 * angle);
    default:
      return std::sin((n + 0.5) * angle) / std::sin(0.5 * angle);
  }
}
TN_HD inline double chebyshev_beyond(char kind, double x, int64_t degree) {
  const double sign = x > 0 ? 1 : sign_of(degree), angle = std::acosh(std::fabs(x)),
               n = static_cast<double>(degree);
  if (kind == 'T') return sign * std::cosh(n * angle);
  if (kind == 'U') return sign * (std::sinh((n + 1) * angle) / std::sinh(angle));
  if ((kind == 'V') == (x > 0))
    return sign * (std::cosh((n + 0.5) * angle) / std::cosh(0.5 * angle));
  return sign * (std::sinh((n + 0.5) * angle) / std::sinh(0.5 * angle));
}

// At 1 and -1 (DLMF 18.6.1).
TN_HD inline double chebyshev_at_end(char kind, double x, int64_t degree) {
  const double n = static_cast<double>(degree), sign = x > 0 ? 1 : sign_of(degree);
  if (kind == 'U') return sign * (n + 1);
  return kind == (x > 0 ? 'W' : 'V') ? sign * (2 * n + 1) : sign;
}

}  // namespace polynomial

// Of the kinds 'T', 'U', 'V' and 'W': they share the recurrence and differ in degree 1.
TN_HD inline double chebyshev_polynomial(char kind, double x, double given) {
  const int64_t n = polynomial::degree(given);
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return polynomial::chebyshev_at_end(kind, x, n);
  if (n > 8 && std::fabs(x) < 1)
    return polynomial::chebyshev_between(kind, x, static_cast<double>(n));
  if (n == 0) return 1;
  if (n > polynomial::kChebyshevSteps) {
    const double y = polynomial::chebyshev_beyond(kind, x, n);
    return std::isinf(y) ? polynomial::kNaN : y;
  }
  double p = 1, q = kind == 'T' ? x : kind == 'U' ? 2 * x : kind == 'V' ? 2 * x - 1 : 2 * x + 1;
  for (int64_t k = 2; k <= n && q == q; ++k) {
    const double r = 2 * x * q - p;
    p = q;
    q = r;
  }
  return q;
}

// Those of 2 x - 1.
TN_HD inline double shifted_chebyshev_polynomial(char kind, double x, double n) {
  return chebyshev_polynomial(kind, x + x - 1, n);
}

// H_n for factor 2, He_n for factor 1 (DLMF 18.9.1).
TN_HD inline double hermite_polynomial(double factor, double x, double given) {
  const int64_t n = polynomial::degree(given);
  if (n < 1) return n < 0 ? 0 : 1;
  if (n > polynomial::kHermiteDegree) return polynomial::kNaN;
  double p = 1, q = factor * x;
  for (int64_t k = 1; k < n && q == q; ++k) {
    const double r = factor * (x * q - static_cast<double>(k) * p);
    p = q;
    q = r;
  }
  return q;
}

TN_HD inline double laguerre_polynomial(double x, double given) {
  const int64_t n = polynomial::degree(given);
  if (n < 0) return 0;
  if (n == 0 || x == 0) return 1;
  if (n > polynomial::kSteps) return polynomial::kNaN;
  double p = 1, q = 1 - x;
  for (int64_t i = 1; i < n && q == q; ++i) {
    const double k = static_cast<double>(i), r = ((2 * k + 1 - x) * q - k * p) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}

TN_HD inline double legendre_polynomial(double x, double given) {
  const int64_t n = polynomial::degree(given);
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 1 : polynomial::sign_of(n);
  if (n == 0) return 1;
  if (n > polynomial::kSteps) return polynomial::kNaN;
  double p = 1, q = x;
  for (int64_t i = 1; i < n && q == q; ++i) {
    const double k = static_cast<double>(i), r = ((2 * k + 1) * x * q - k * p) / (k + 1);
    p = q;
    q = r;
  }
  return q;
}

}  // namespace tenon::sdk::math
