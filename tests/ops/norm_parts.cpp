// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batch normalization in parts, as processes that share a batch compute it: that of the whole
// batch.
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/support.h"

using namespace tenon;

namespace {

struct NormParts : testing::Test {
  // Two parts of different length, far from 0.
  const Tensor x = [] {
    manual_seed(1);
    return randn({7, 3, 4, 2}, kDouble) * 2 + 5;
  }();
  const Tensor weight = rand({3}, kDouble) + 0.5, bias = randn({3}, kDouble);
  const std::vector<Tensor> parts{x.slice(0, 0, 3), x.slice(0, 3)};
  const Tensor counts = tensor({24.0, 32.0}, kDouble);
  const double eps = 1e-5, momentum = 0.3;

  // The statistics of the whole, from those of the parts.
  std::tuple<Tensor, Tensor> gathered(const Tensor& running_mean, const Tensor& running_var) const {
    std::vector<Tensor> means, invstds;
    for (const Tensor& part : parts) {
      const auto [mean, invstd] = batch_norm_stats(part, eps);
      means.push_back(mean);
      invstds.push_back(invstd);
    }
    return batch_norm_gather_stats_with_counts(x, stack(means), stack(invstds), running_mean,
                                               running_var, momentum, eps, counts);
  }
};

TEST_F(NormParts, AreTheForwardPassOfTheWhole) {
  const Tensor running_mean = zeros({3}, kDouble), running_var = ones({3}, kDouble);
  const Tensor mean_of_whole = running_mean.clone(), var_of_whole = running_var.clone();
  const Tensor expected =
      batch_norm(x, weight, bias, mean_of_whole, var_of_whole, true, momentum, eps, false);
  const auto [mean, invstd] = gathered(running_mean, running_var);
  const Tensor got = cat({batch_norm_elemt(parts[0], weight, bias, mean, invstd, eps),
                          batch_norm_elemt(parts[1], weight, bias, mean, invstd, eps)});
  EXPECT_TRUE(allclose(got, expected, 1e-12, 1e-12));
  EXPECT_TRUE(allclose(running_mean, mean_of_whole, 1e-12, 1e-12));
  EXPECT_TRUE(allclose(running_var, var_of_whole, 1e-12, 1e-12));
}

TEST_F(NormParts, AreTheGradientOfTheWhole) {
  const Tensor input = x.detach().requires_grad_(), w = weight.detach().requires_grad_(),
               b = bias.detach().requires_grad_(), grad = randn_like(x);
  const auto expected = autograd::grad(
      {batch_norm(input, w, b, {}, {}, true, momentum, eps, false)}, {input, w, b}, {grad});
  const auto [mean, invstd] = gathered({}, {});
  const std::vector<Tensor> grads{grad.slice(0, 0, 3), grad.slice(0, 3)};
  Tensor sum_dy = zeros({3}, kDouble), sum_dy_xmu = zeros({3}, kDouble),
         grad_weight = zeros({3}, kDouble), grad_bias = zeros({3}, kDouble);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [dy, dy_xmu, of_weight, of_bias] =
        batch_norm_backward_reduce(grads[i], parts[i], mean, invstd, weight, true, true, true);
    sum_dy += dy;
    sum_dy_xmu += dy_xmu;
    grad_weight += of_weight;
    grad_bias += of_bias;
  }
  std::vector<Tensor> got;
  for (std::size_t i = 0; i < 2; ++i)
    got.push_back(batch_norm_backward_elemt(grads[i], parts[i], mean, invstd, weight, sum_dy,
                                            sum_dy_xmu, counts));
  EXPECT_TRUE(allclose(cat(got), expected[0], 1e-10, 1e-12));
  EXPECT_TRUE(allclose(grad_weight, expected[1], 1e-10, 1e-12));
  EXPECT_TRUE(allclose(grad_bias, expected[2], 1e-10, 1e-12));
}

TEST_F(NormParts, UpdateStatsGivesTheBiasedVariance) {
  const Tensor running_var = zeros({3}, kDouble);
  const auto [mean, var] = batch_norm_update_stats(x, {}, running_var, 1.0);
  EXPECT_TRUE(allclose(mean, x.mean({0, 2, 3})));
  EXPECT_TRUE(allclose(var, x.var({0, 2, 3}, /*unbiased=*/false)));
  EXPECT_TRUE(allclose(running_var, x.var({0, 2, 3})));
}

TEST_F(NormParts, HalvesHaveTheStatisticsOfFloats) {
  const auto [mean, invstd] = batch_norm_stats(x.to(kHalf), eps);
  EXPECT_EQ(mean.scalar_type(), kFloat);
  EXPECT_EQ(batch_norm_elemt(x.to(kHalf), {}, {}, mean, invstd, eps).scalar_type(), kHalf);
}

TEST_F(NormParts, ARefusedCallLeavesTheStatistics) {
  const Tensor running_mean = zeros({3}, kDouble);
  test::expect_words(test::text_of<ValueError>([&] {
                       batch_norm_update_stats(x, running_mean, zeros({2}, kDouble), momentum);
                     }),
                     {"batch_norm_update_stats", "one element per channel, 3", "[2]"});
  EXPECT_TRUE(equal(running_mean, zeros({3}, kDouble)));
  const Tensor ones_of_floats = ones({3});
  EXPECT_ANY_THROW(batch_norm_update_stats(x.to(kFloat), ones_of_floats, {}, 1e39));
  EXPECT_TRUE(equal(ones_of_floats, ones({3})));
}

TEST_F(NormParts, BadShapesAreNamed) {
  test::expect_words(test::text_of<ValueError>([&] { batch_norm_stats(x[0][0][0], eps); }),
                     {"batch_norm_stats", "2-D", "[2]"});
  test::expect_words(test::text_of<ValueError>([&] {
                       batch_norm_gather_stats_with_counts(x, zeros({2, 3}), zeros({2, 3}), {}, {},
                                                           momentum, eps, zeros({3}));
                     }),
                     {"batch_norm_gather_stats_with_counts", "[parts, channels]", "[3]"});
}

}  // namespace
