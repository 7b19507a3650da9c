// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The derivatives of digamma, by Hurwitz' zeta function: psi_n(x) = (-1)^(n+1) n! zeta(n + 1, x).
#include <cmath>

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/ops/polygamma.h"
#include "tenon/sdk/scalar_math.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

// Ten terms, then Euler and Maclaurin's formula with B_2 to B_16. s >= 2.
double hurwitz_zeta(double s, double x) {
  static const double bernoulli_over_factorial[] = {1.0 / 12,          -1.0 / 720,
                                                    1.0 / 30240,       -1.0 / 1209600,
                                                    1.0 / 47900160,    -691.0 / 1307674368000,
                                                    1.0 / 74724249600, -3617.0 / 10670622842880000};
  double sum = 0;
  const double stop = x + 10;
  for (; x < stop || x < 10; x += 1) {
    if (x == 0) return HUGE_VAL;
    sum += std::pow(x, -s);
  }
  sum += std::pow(x, 1 - s) / (s - 1) + 0.5 * std::pow(x, -s);
  double factor = s * std::pow(x, -s - 1);
  for (int k = 0; k < 8; ++k) {
    sum += bernoulli_over_factorial[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
  }
  return sum;
}

// By reflection below zero, with the sine in the precision of T as ATen takes it: at a negative integer the sine of the
// rounded argument is not zero, and the large finite number that comes out is what programs know.
template <class T>
double trigamma_below_zero(T x) {
  const T pi = static_cast<T>(3.14159265358979323846), s = std::sin(pi * x);
  return static_cast<double>((pi * pi) / (s * s)) - hurwitz_zeta(2, 1 - static_cast<double>(x));
}

template <class T>
double polygamma_of(int64_t n, T given) {
  const double x = static_cast<double>(given);
  if (n == 0) return math::digamma(x);
  if (n == 1 && x < 0) return trigamma_below_zero(given);
  if (x <= 0 && x == std::floor(x)) return n % 2 ? HUGE_VAL : -HUGE_VAL;
  const double sign = n % 2 ? 1 : -1, order = static_cast<double>(n);
  return sign * std::exp(std::lgamma(order + 1)) * hurwitz_zeta(order + 1, x);
}

tn_status polygamma(Call&, Tensor out, int64_t n, Tensor self) {
  dispatch_floating(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const T* in = self.data<T>();
    T* to = out.data<T>();
    parallel_for(self.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<T>(static_cast<compute_t<T>>(polygamma_of(n, static_cast<compute_t<T>>(in[i]))));
      }
    });
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(polygamma, polygamma, dtypes("floating").inplace("0=1"));

}  // namespace tenon::cpu
