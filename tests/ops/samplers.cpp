// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// In-place samplers against the distributions that they are named for: Kolmogorov and Smirnov's
// statistic of continuous ones, chi-square of discrete ones. The seed is fixed; the limits are what
// one seed in a thousand exceeds.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"

namespace tenon {
namespace {

constexpr int64_t kDraws = 100'000;

Tensor draws() { return empty({kDraws}, kDouble); }

// The largest distance of the empirical distribution from `cdf`, times the root of the draws.
template <class F>
double kolmogorov(const Tensor& x, F cdf) {
  const Tensor sorted = std::get<0>(x.sort()), steps = (arange(kDraws, kDouble) + 0.5) / kDraws;
  const Tensor distance = (cdf(sorted) - steps).abs().max();
  return distance.item<double>() * std::sqrt(static_cast<double>(kDraws));
}
constexpr double kLimit = 1.95;

Tensor normal_cdf(const Tensor& x) { return (x * -M_SQRT1_2).erfc() / 2; }

TEST(Samplers, ContinuousOnes) {
  manual_seed(1);
  EXPECT_LT(kolmogorov(draws().uniform_(-1, 3), [](const Tensor& x) { return (x + 1) / 4; }),
            kLimit);
  EXPECT_LT(
      kolmogorov(draws().normal_(1, 2), [](const Tensor& x) { return normal_cdf((x - 1) / 2); }),
      kLimit);
  EXPECT_LT(
      kolmogorov(draws().exponential_(0.5), [](const Tensor& x) { return -(x * -0.5).expm1(); }),
      kLimit);
  EXPECT_LT(kolmogorov(draws().cauchy_(1, 2),
                       [](const Tensor& x) { return ((x - 1) / 2).atan() / M_PI + 0.5; }),
            kLimit);
  EXPECT_LT(kolmogorov(draws().log_normal_(0.5, 0.7),
                       [](const Tensor& x) { return normal_cdf((x.log() - 0.5) / 0.7); }),
            kLimit);
}

// Chi-square of counts, where the last cell has all that is left.
double chi_square(const Tensor& x, const std::vector<double>& probabilities) {
  double sum = 0, rest = 1;
  int64_t left = kDraws;
  const auto add = [&](int64_t count, double p) {
    const double expected = p * kDraws, off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  };
  for (std::size_t k = 0; k < probabilities.size(); ++k) {
    const int64_t count = x.eq(static_cast<int64_t>(k)).sum().item<int64_t>();
    if (probabilities[k] > 0) add(count, probabilities[k]);
    left -= count;
    rest -= probabilities[k];
  }
  if (rest > 1e-9) add(left, rest);
  return sum;
}

TEST(Samplers, DiscreteOnes) {
  manual_seed(2);
  // 9 degrees of freedom; then 7, then 1.
  EXPECT_LT(chi_square(draws().random_(0, 10), std::vector<double>(10, 0.1)), 27.9);
  std::vector<double> geometric = {0};
  for (int k = 1; k <= 7; ++k) geometric.push_back(0.3 * std::pow(0.7, k - 1));
  EXPECT_LT(chi_square(draws().geometric_(0.3), geometric), 24.3);
  EXPECT_LT(chi_square(draws().bernoulli_(0.3), {0.7, 0.3}), 10.8);
}

}  // namespace
}  // namespace tenon
