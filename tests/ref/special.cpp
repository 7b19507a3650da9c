// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions without a name in the standard library.
#include "elementwise.h"
#include "tenon/sdk/ops/digamma.h"
#include "tenon/sdk/ops/erfinv.h"
#include "tenon/sdk/ops/i0.h"
#include "tenon/sdk/ops/nextafter.h"
#include "tenon/sdk/ops/polygamma.h"

namespace {

using namespace tenon::ref;

constexpr Real kPi = 3.14159265358979323846L;

// Newton's steps from 0 rise to the root, as erf is concave there.
Real erfinv(Real x) {
  if (std::isnan(x) || std::fabs(x) > 1) return NAN;
  if (std::fabs(x) == 1) return std::copysign(HUGE_VALL, x);
  const Real goal = std::fabs(x);
  Real y = 0;
  for (int step = 0; step < 400; ++step) {
    const Real missing = goal < 0.5L ? goal - std::erf(y) : std::erfc(y) - (1 - goal);
    const Real next = y + missing * std::sqrt(kPi) / 2 * std::exp(y * y);
    if (!(next > y)) break;
    y = next;
  }
  return std::copysign(y, x);
}

// Upwards to where the asymptotic series holds.
Real digamma(Real x) {
  if (x == 0) return std::copysign(HUGE_VALL, -x);
  if (x < 0)
    return x == std::floor(x) ? NAN : digamma(1 - x) - kPi / std::tan(kPi * std::fmod(x, Real(1)));
  Real sum = 0;
  for (; x < 30; ++x) sum -= 1 / x;
  const Real s = 1 / (x * x);
  const Real tail = s * (1 / Real(12) -
                         s * (1 / Real(120) - s * (1 / Real(252) - s * (1 / Real(240) - s / 132))));
  return sum + std::log(x) - 1 / (2 * x) - tail;
}

// The sum of 1 / (q + k)^s over k, by Euler and Maclaurin.
Real zeta(Real s, Real q) {
  if (q <= 0 && q == std::floor(q)) return HUGE_VALL;
  Real sum = 0;
  for (; q < 30; ++q) sum += std::pow(q, -s);
  const Real p = std::pow(q, -s);
  Real term = s * p / q, series = p / 2 + q * p / (s - 1);
  const Real bernoulli[] = {1 / Real(12), -1 / Real(720), 1 / Real(30240), -1 / Real(1209600)};
  for (int k = 0; k < 4; ++k) {
    series += bernoulli[k] * term;
    term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum + series;
}

Real polygamma(int64_t n, Real x) {
  if (n == 0) return digamma(x);
  return (n % 2 ? 1 : -1) * std::tgamma(Real(n) + 1) * zeta(Real(n) + 1, x);
}

Real bessel_i0(Real x) {
  if (std::isnan(x) || std::isinf(x)) return NAN;
  Real sum = 1, term = 1;
  for (int k = 1; term > sum * 1e-22L && k < 2000; ++k) {
    term *= x * x / 4 / (Real(k) * k);
    sum += term;
  }
  return sum;
}

// At a pole ATen has what the sine of the rounded argument gives.
Real trigamma_at_pole(Real x, bool narrow) {
  const Real s = narrow ? std::sin(static_cast<float>(kPi) * static_cast<float>(x))
                        : std::sin(static_cast<double>(kPi) * static_cast<double>(x));
  return kPi * kPi / (s * s) - zeta(2, 1 - x);
}

tn_status polygamma_of(Call&, Tensor out, int64_t n, Tensor self) {
  const bool narrow = tenon::sdk::item_size(out.dtype()) <= 4;
  each(out.sizes(), [&](const Index& i) {
    REF_X;
    const bool pole = n == 1 && x < 0 && x == std::floor(x);
    put(out, i, pole ? trigamma_at_pole(x, narrow) : polygamma(n, x));
  });
  return TN_OK;
}

tn_status next(Call&, Tensor out, Tensor self, Tensor other) {
  each(out.sizes(), [&](const Index& i) {
    REF_X;
    const Real y = get_broadcast(other, i);
    const bool narrow = tenon::sdk::item_size(out.dtype()) == 4;
    put(out, i,
        narrow ? std::nextafter(static_cast<float>(x), static_cast<float>(y))
               : std::nextafter(static_cast<double>(x), static_cast<double>(y)));
  });
  return TN_OK;
}

REF_UNARY(erfinv, erfinv(x));
REF_UNARY(digamma, digamma(x));
REF_UNARY(i0, bessel_i0(x));

}  // namespace

TN_KERNEL(polygamma, polygamma_of, dtypes("floating").any_strides());
TN_KERNEL(nextafter, next, dtypes("float32, float64").any_strides().broadcasts());
