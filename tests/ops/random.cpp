// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random numbers: the same bits for a seed whatever the threads, and the promised distributions.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/sdk/philox.h"
#include "tests/support.h"

namespace tenon {
namespace {

TEST(Random, WordsAreThoseOfTheStream) {
  manual_seed(11);
  Tensor x = rand({1000});
  for (int64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(x.data_ptr<float>()[i],
              sdk::philox_float(sdk::philox_word(11, 0, static_cast<uint64_t>(i))))
        << i;
  }
  Tensor next = rand({1});
  EXPECT_EQ(next.item<float>(), sdk::philox_float(sdk::philox_word(11, 250, 0)));
}

TEST(Random, BitsDoNotDependOnThreads) {
  const std::function<Tensor()> makers[] = {
      [] { return rand({100003}); },
      [] { return randn({100003}); },
      [] { return randn({100003}, TensorOptions(kDouble)); },
      [] { return randint(0, 1000, {100003}); },
      [] { return randperm(100003); },
      [] { return std::get<0>(native_dropout(ones({100003}), 0.3, true)); },
      [] { return zeros({100003}).bernoulli_(0.25); },
  };
  for (const auto& make : makers) {
    test::expect_same_bits_on(3, [&] {
      manual_seed(3);
      return std::vector<Tensor>{make()};
    });
  }
}

TEST(Random, Moments) {
  manual_seed(5);
  Tensor u = rand({200000}), n = randn({200000}, TensorOptions(kDouble));
  EXPECT_NEAR(u.mean().item<double>(), 0.5, 0.003);
  EXPECT_LT(u.max().item<float>(), 1.0f);
  EXPECT_NEAR(n.mean().item<double>(), 0, 0.01);
  EXPECT_NEAR(n.mul(n).mean().item<double>(), 1, 0.02);
  EXPECT_NEAR(zeros({200000}).bernoulli_(0.3).mean().item<double>(), 0.3, 0.005);
  EXPECT_NEAR(empty({200000}).exponential_(2).mean().item<double>(), 0.5, 0.005);
}

TEST(Random, PermutationsAndDraws) {
  EXPECT_TRUE(equal(std::get<0>(randperm(500).sort()), arange(500)));
  Tensor weights = tensor({0., 1., 3., 0.});
  Tensor drawn = multinomial(weights, 20000, true);
  EXPECT_NEAR(drawn.eq(2).to(kDouble).mean().item<double>(), 0.75, 0.02);
  EXPECT_TRUE(equal(std::get<0>(multinomial(weights, 2).sort()), tensor({1, 2})));
  EXPECT_THROW(multinomial(weights, 3), ValueError);
  EXPECT_THROW(zeros({2}).bernoulli_(1.5), ValueError);
  EXPECT_THROW(randint(4, 4, {2}), ValueError);
}

TEST(Random, DropoutKeepsTheMean) {
  manual_seed(9);
  Tensor x = ones({100000}).requires_grad_();
  Tensor y = dropout(x, 0.25, true);
  EXPECT_NEAR(y.mean().item<float>(), 1, 0.02);
  y.sum().backward();
  EXPECT_TRUE(equal(x.grad(), y.detach()));
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x));
  EXPECT_EQ(dropout(x, 1, true).abs().sum().item<float>(), 0);
}

TEST(Random, ComplexNumbersHaveUnitVariance) {
  manual_seed(10);
  const Tensor z = randn({20000}, kComplexDouble);
  EXPECT_NEAR(z.abs().square().mean().item<double>(), 1, 0.03);
  EXPECT_NEAR((real(z) * imag(z)).mean().item<double>(), 0, 0.02);
  EXPECT_EQ(randn_like(z).scalar_type(), kComplexDouble);
  const Tensor u = rand({1000}, kComplexFloat);
  EXPECT_GE(real(u).min().item<float>(), 0);
  EXPECT_LT(imag(u).max().item<float>(), 1);
}

TEST(Random, RefusedRreluLeavesItsNoise) {
  const Tensor leaf = tensor({-1., 2.}).requires_grad_(), noise = full({2}, 7.);
  EXPECT_THROW((void)rrelu_with_noise_(leaf, noise, 0.125, 0.3, true), ValueError);
  EXPECT_TRUE(noise.equal(full({2}, 7.)));
}

}  // namespace
}  // namespace tenon
