// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The incomplete gamma functions, computed in double. Overwritten: the output, which may be the first operand.
#include <cmath>
#include <limits>

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/igamma.h"
#include "tenon/sdk/ops/igammac.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kSteps = 1 << 17;

// log of gamma(a) over Stirling's formula, a >= 10.
double stirling_rest(double a) {
  const double r = 1 / (a * a);
  return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / a;
}

// x^a e^-x / gamma(a)
double factor(double a, double x) {
  if (a < 10) return std::exp(a * std::log(x) - x - std::lgamma(a));
  const double d = (x - a) / a;
  return std::sqrt(a / (2 * 3.14159265358979323846)) * std::exp(a * (std::log1p(d) - d) - stirling_rest(a));
}

double lower_series(double a, double x, double epsilon) {
  double sum = 1, term = 1;
  for (int n = 1; n < kSteps && term > sum * epsilon; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return factor(a, x) / a * sum;
}

// For small x, where 1 - lower would cancel.
double upper_series(double a, double x, double epsilon) {
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
double upper_fraction(double a, double x, double epsilon) {
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

// The leading terms for large a: the other ways would take too many steps.
double upper_asymptotic(double a, double x) {
  const double d = (x - a) / a, half = d - std::log1p(d);  // eta^2 / 2
  const double eta = std::copysign(std::sqrt(2 * half), d);
  const double correction = std::abs(d) < 1e-4 ? -1.0 / 3 + d / 12 : 1 / d - 1 / eta;
  return 0.5 * std::erfc(eta * std::sqrt(a / 2)) +
         std::exp(-a * half) / std::sqrt(2 * 3.14159265358979323846 * a) * correction;
}

bool upper_is_small(double a, double x) {
  if (x <= 0.5) return -0.4 / std::log(x) >= a;
  if (x <= 1.1) return 0.75 * x >= a;
  return x > a;
}

// Where lower and upper are 0, 1 or nothing at all; `rest` is what is looked for there.
bool at_border(double a, double x, bool upper, double* rest) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) {
    *rest = kNaN;
    return true;
  }
  const bool all_lower = a == 0 || std::isinf(x);
  if (!all_lower && x > 0 && !std::isinf(a)) return false;
  *rest = all_lower != upper ? 1 : 0;
  return true;
}

double incomplete(double a, double x, bool upper, double epsilon) {
  double value;
  if (at_border(a, x, upper, &value)) return value;
  if (a > 1e8) {
    value = upper_asymptotic(a, x);
    return upper ? value : 1 - value;
  }
  if (!upper_is_small(a, x)) {
    value = lower_series(a, x, epsilon);
    return upper ? 1 - value : value;
  }
  value = x <= 1.1 ? upper_series(a, x, epsilon) : upper_fraction(a, x, epsilon);
  return upper ? value : 1 - value;
}

template <bool upper>
tn_status gamma(Call&, Tensor out, Tensor self, Tensor other) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T *a = self.data<T>(), *x = other.data<T>();
    T* to = out.data<T>();
    const double epsilon = std::is_same_v<T, double> ? 1e-16 : 1e-10;
    parallel_for(out.numel(), 512, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double v = incomplete(static_cast<double>(a[i]), static_cast<double>(x[i]), upper, epsilon);
        to[i] = static_cast<T>(static_cast<compute_t<T>>(v));
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(igamma, gamma<false>, dtypes("floating").inplace("0=0,0=1"));
TN_KERNEL(igammac, gamma<true>, dtypes("floating").inplace("0=0,0=1"));

}  // namespace tenon::cpu
