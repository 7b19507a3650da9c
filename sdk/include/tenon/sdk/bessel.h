// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Bessel functions of order 0 and 1 and the Airy function, in double on host and device. Limits are
// those of ATen: NaN at both infinities where a function oscillates or grows.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/sdk/hd.h"

namespace tenon::sdk::math {

namespace bessel {

inline constexpr double kPi = 3.14159265358979323846, kEuler = 0.57721566490153286061;
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                        kInf = std::numeric_limits<double>::infinity();

// The sum of sign^k a_k(order) / x^k of Hankel's expansions (DLMF 10.40.1 and 10.40.2): -1 for I,
// 1 for K. x >= 20 and order <= 1, so that its terms fall below the last digit.
TN_HD inline double hankel_sum(double order, double x, double sign) {
  double term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    const double odd = 2 * k - 1;
    term *= sign * (4 * order * order - odd * odd) / (8 * k * x);
    sum += term;
    if (std::fabs(term) < 1e-17) break;
  }
  return sum;
}

// I_n / (x / 2)^n for n = 0 and 1, |x| < 20 (DLMF 10.25.2): all terms are positive.
TN_HD inline double i_series(int n, double x) {
  const double q = 0.25 * x * x;
  double term = 1, sum = 1;
  for (int k = 1; k < 80 && term > 1e-18 * sum; ++k) {
    term *= q / (static_cast<double>(k) * (k + n));
    sum += term;
  }
  return sum;
}

// e^-|x| I_n(|x|)
TN_HD inline double scaled_i(int n, double x) {
  const double size = std::fabs(x);
  if (!(size < 20)) return hankel_sum(n, size, -1) / std::sqrt(2 * kPi * size);
  return std::exp(-size) * (n == 0 ? 1 : 0.5 * size) * i_series(n, size);
}

// e^x K_order(x) for x >= 1/2: the integral of e^(-x (cosh t - 1)) cosh(order t) over t > 0 (DLMF
// 10.32.9) by the trapezoidal rule, whose error is e^(-pi^2 / h) and e^(-2 pi^2 / (x h^2)); from 20
// on Hankel's expansion.
TN_HD inline double scaled_k(double order, double x) {
  if (!(x < 20)) return std::sqrt(kPi / (2 * x)) * hankel_sum(order, x, 1);
  const double h = x < 3 ? 0.24 : x < 8 ? 0.19 : 0.15;
  const double step = std::exp(h), order_step = std::exp(order * h);
  double sum = 0.5, e = 1, f = 1;  // e^t and e^(order t)
  for (int k = 1; k < 60; ++k) {
    e *= step;
    f *= order_step;
    const double rise = x * (e - 1) * (e - 1) / (2 * e);
    sum += std::exp(-rise) * 0.5 * (f + 1 / f);
    if (rise > 40) break;
  }
  return h * sum;
}

// The ascending series for 0 < x < 1 (DLMF 10.31.2).
TN_HD inline double k0_series(double x) {
  const double q = 0.25 * x * x;
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 12; ++k) {
    term *= q / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (std::log(0.5 * x) + kEuler) * i_series(0, x);
}

// DLMF 10.31.1 for n = 1, where psi(k + 1) + psi(k + 2) = 2 (H_k - gamma) + 1 / (k + 1).
TN_HD inline double k1_series(double x) {
  const double q = 0.25 * x * x;
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 0; k < 12; ++k) {
    sum += term * (2 * (harmonic - kEuler) + 1.0 / (k + 1));
    harmonic += 1.0 / (k + 1);
    term *= q / ((k + 1.0) * (k + 2.0));
  }
  return 1 / x + std::log(0.5 * x) * 0.5 * x * i_series(1, x) - 0.25 * x * sum;
}

// Ai(at + h) by Taylor's series from Ai and Ai' at a point, with the coefficients that
// w'' = x w (DLMF 9.2.1) gives.
TN_HD inline double airy_near(double at, double value, double slope, double h) {
  double c0 = 0, c1 = value, c2 = slope, power = h, sum = value + slope * h;
  for (int n = 0; n < 40; ++n) {
    const double next = (at * c1 + c0) / ((n + 1.0) * (n + 2.0));
    c0 = c1;
    c1 = c2;
    c2 = next;
    power *= h;
    sum += c2 * power;
  }
  return sum;
}

// Ai(-z) for z > 10 (DLMF 9.7.9).
TN_HD inline double airy_oscillating(double z) {
  const double zeta = z * std::sqrt(z) * (2.0 / 3);
  double term = 1, even = 1, odd = 0;
  for (int k = 1; k < 40 && std::fabs(term) > 1e-18; ++k) {
    term *= ((2.0 * k - 1) * (2.0 * k - 1) - 4.0 / 9) / (8.0 * k * zeta);
    (k % 2 == 0 ? even : odd) += k & 2 ? -term : term;
  }
  const double s = std::sin(zeta), c = std::cos(zeta);
  return ((c + s) * even + (s - c) * odd) / std::sqrt(2 * kPi * std::sqrt(z));
}

}  // namespace bessel

TN_HD inline double bessel_j0(double x) { return std::isinf(x) ? bessel::kNaN : ::j0(x); }
TN_HD inline double bessel_j1(double x) { return std::isinf(x) ? bessel::kNaN : ::j1(x); }

// -infinity at both zeros, NaN below.
TN_HD inline double bessel_y0(double x) {
  if (x == 0) return -bessel::kInf;
  return x > 0 && !std::isinf(x) ? ::y0(x) : bessel::kNaN;
}
TN_HD inline double bessel_y1(double x) {
  if (x == 0) return -bessel::kInf;
  return x > 0 && !std::isinf(x) ? ::y1(x) : bessel::kNaN;
}

TN_HD inline double i0e(double x) { return bessel::scaled_i(0, x); }
TN_HD inline double i1e(double x) { return std::copysign(bessel::scaled_i(1, x), x); }
TN_HD inline double i1(double x) {
  const double size = std::fabs(x);
  if (size < 20) return 0.5 * x * bessel::i_series(1, x);
  if (!(size < bessel::kInf)) return bessel::kNaN;
  // e^x alone overflows before the result does.
  const double half = std::exp(0.5 * size);
  return std::copysign(half * bessel::scaled_i(1, size) * half, x);
}

// Infinity at both zeros, NaN below.
TN_HD inline double modified_bessel_k0(double x) {
  if (x == 0) return bessel::kInf;
  if (!(x > 0)) return bessel::kNaN;
  return x < 1 ? bessel::k0_series(x) : std::exp(-x) * bessel::scaled_k(0, x);
}
TN_HD inline double modified_bessel_k1(double x) {
  if (x == 0) return bessel::kInf;
  if (!(x > 0)) return bessel::kNaN;
  return x < 1 ? bessel::k1_series(x) : std::exp(-x) * bessel::scaled_k(1, x);
}
TN_HD inline double scaled_modified_bessel_k0(double x) {
  return x < 1 ? std::exp(x) * modified_bessel_k0(x) : bessel::scaled_k(0, x);
}
TN_HD inline double scaled_modified_bessel_k1(double x) {
  return x < 1 ? std::exp(x) * modified_bessel_k1(x) : bessel::scaled_k(1, x);
}

TN_HD inline double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

// Between -10 and 1 from the nearest of five points, above from K_1/3 (DLMF 9.6.2).
TN_HD inline double airy_ai(double x) {
  if (std::isinf(x)) return bessel::kNaN;
  if (x >= 1) {
    const double root = std::sqrt(x), zeta = x * root * (2.0 / 3);
    if (zeta > 800) return 0;
    return std::exp(-zeta) * bessel::scaled_k(1.0 / 3, zeta) * std::sqrt(x / 3) / bessel::kPi;
  }
  if (x < -10) return bessel::airy_oscillating(-x);
  if (x < -8)
    return bessel::airy_near(-9, -0.022133721547341403674, -0.97566398092633159471, x + 9);
  if (x < -6) return bessel::airy_near(-7, 0.18428083525050563728, -0.77100816841012654773, x + 7);
  if (x < -4) return bessel::airy_near(-5, 0.35076100902411431979, 0.32719281855444313679, x + 5);
  if (x < -2) return bessel::airy_near(-3, -0.37881429367765807435, 0.31458376921659881365, x + 3);
  return bessel::airy_near(0, 0.35502805388781723926, -0.25881940379280679841, x);
}

}  // namespace tenon::sdk::math
