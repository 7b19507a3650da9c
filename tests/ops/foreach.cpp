// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// In-place calls over lists write all tensors or, where one is refused, none.
#include <gtest/gtest.h>

#include <limits>

#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

// A refused call leaves every tensor as it was.
template <class Error, class F>
void expect_untouched(const std::vector<Tensor>& tensors, F&& call) {
  std::vector<Tensor> before;
  before.reserve(tensors.size());
  for (const Tensor& t : tensors) before.push_back(t.clone());
  EXPECT_THROW(call(), Error);
  for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_TRUE(tensors[i].equal(before[i])) << i;
}

TEST(Foreach, LastShapeRefused) {
  const std::vector<Tensor> self{ones({2, 3}), ones({4})}, other{ones({2, 3}), ones({5})};
  expect_untouched<ValueError>(self, [&] { _foreach_add_(self, other); });
  _foreach_add_(self, {other[0], ones({4})});
  EXPECT_EQ(self[1].sum().item<double>(), 8);
}

TEST(Foreach, LastNumberRefused) {
  const std::vector<Tensor> self{ones({2}), ones({2})};
  const std::vector<Scalar> numbers{2.0, 1e300};
  expect_untouched<Error>(self, [&] { _foreach_clamp_max_(self, numbers); });
}

TEST(Foreach, LastTensorSharesItsElements) {
  const std::vector<Tensor> self{ones({2}), ones({1}).expand({4})};
  expect_untouched<ValueError>(self, [&] { _foreach_mul_(self, 2); });
}

TEST(Foreach, UnscaleCountsWhatIsNotFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<Tensor> grads{tensor({2., 4.}), tensor({6., inf})};
  const Tensor found = zeros({1}), half = tensor({0.5});
  _amp_foreach_non_finite_check_and_unscale_(grads, found, half);
  EXPECT_EQ(found.item<double>(), 1);
  EXPECT_TRUE(grads[0].equal(tensor({1., 2.})));
  const std::vector<Tensor> mixed{tensor({2., 4.}), arange(3)};
  expect_untouched<TypeError>(
      mixed, [&] { _amp_foreach_non_finite_check_and_unscale_(mixed, found, half); });
}

TEST(FusedSteps, RefusedStepKeepsScaledGradients) {
  const std::vector<Tensor> self{ones({2}), ones({3})}, grads{ones({2}), ones({3})};
  const std::vector<Tensor> sums{zeros({2}), zeros({4})}, steps{tensor(1.f), tensor(1.f)};
  std::vector<Tensor> all = self;
  all.insert(all.end(), grads.begin(), grads.end());
  all.insert(all.end(), sums.begin(), sums.end());
  expect_untouched<ValueError>(all, [&] {
    _fused_adagrad_(self, grads, sums, steps, 0.1, 0, 0, 1e-8, false, tensor({8.f}), {});
  });
  expect_untouched<ValueError>(all, [&] {
    _fused_adam_(self, grads, sums, sums, {}, steps, 0.1, 0.9, 0.99, 0, 1e-8, false, false,
                 tensor({8.f}), {});
  });
}

TEST(FusedSteps, ScaleIsTakenOutOfTheGradients) {
  const std::vector<Tensor> self{ones({2})}, grads{full({2}, 8.f)}, sums{zeros({2})};
  _fused_adagrad_(self, grads, sums, {tensor(1.f)}, 0.5, 0, 0, 0, false, tensor({4.f}), {});
  EXPECT_TRUE(grads[0].equal(full({2}, 2.f)));
  EXPECT_TRUE(sums[0].equal(full({2}, 4.f)));
  EXPECT_TRUE(self[0].equal(full({2}, 0.5f)));  // 1 - 0.5 * 2 / sqrt(4)
}

}  // namespace
}  // namespace tenon
