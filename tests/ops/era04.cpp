// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// compat::Era04: the rules of 0.4, in the public functions of this thread alone.
#include <gtest/gtest.h>

#include <thread>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

TEST(Era04, FactoriesGiveFloats) {
  EXPECT_EQ(arange(2, 6).scalar_type(), kLong);
  compat::Era04 era;
  EXPECT_EQ(arange(4).scalar_type(), kFloat);
  EXPECT_EQ(arange(2, 6).scalar_type(), kFloat);
  EXPECT_EQ(arange(2, 6, 2).scalar_type(), kFloat);
  EXPECT_EQ(arange(2, 6).index({3}).item<float>(), 5);
  EXPECT_EQ(arange(2, 6, TensorOptions(kInt)).scalar_type(), kInt);
  EXPECT_EQ(randint(5, {3}).scalar_type(), kFloat);
  EXPECT_EQ(randint(2, 5, {3}).scalar_type(), kFloat);
  EXPECT_EQ(full({2}, 3).scalar_type(), kFloat);
  EXPECT_EQ(full({2}, 3, TensorOptions(kLong)).scalar_type(), kLong);
  EXPECT_EQ(full_like(zeros({2}, TensorOptions(kShort)), 3).scalar_type(), kShort);
}

TEST(Era04, ComparisonsGiveBytes) {
  Tensor a = tensor({1., 2., 3.}), b = tensor({3., 2., 1.});
  EXPECT_EQ((a < b).scalar_type(), kBool);
  compat::Era04 era;
  EXPECT_EQ((a < b).scalar_type(), kByte);
  EXPECT_TRUE(equal(a < b, tensor({1, 0, 0}, TensorOptions(kByte))));
  EXPECT_TRUE(equal(a >= 2, tensor({0, 1, 1}, TensorOptions(kByte))));
  EXPECT_EQ(a.greater(b).scalar_type(), kByte);
  EXPECT_EQ(a.isnan().scalar_type(), kByte);
  EXPECT_EQ(eq(a, b).scalar_type(), kByte);
  EXPECT_EQ((a == b).sum().item<int64_t>(), 1);
  EXPECT_TRUE(equal(a.index({a > 1.5}), tensor({2., 3.})));
  EXPECT_TRUE(equal(a.masked_fill(a > 1.5, 0), tensor({1., 0., 0.})));
  Tensor c = a.clone();
  c.lt_(b);
  EXPECT_EQ(c.scalar_type(), kFloat);
}

TEST(Era04, ByteMasksWarnOutside) {
  static int heard;
  heard = 0;
  WarningCallback before =
      set_warning_handler([](const WarningMessage& w) { heard += w.category == "deprecated"; });
  Tensor a = tensor({1., 2.}), mask = tensor({0, 1}, TensorOptions(kByte));
  {
    compat::Era04 era;
    a.index({mask});
    a.index_put_({mask}, Scalar(5));
  }
  EXPECT_EQ(heard, 0);
  a.index({mask});
  a.index({mask});
  a.index_put_({mask}, Scalar(7));
  EXPECT_EQ(heard, 3);
  EXPECT_TRUE(equal(a, tensor({1., 7.})));
  set_warning_handler(before);
}

TEST(Era04, MixedDtypesAreRefused) {
  Tensor f = ones({2}), d = ones({2}, TensorOptions(kDouble)), n = ones({2}, TensorOptions(kLong));
  EXPECT_EQ((f + d).scalar_type(), kDouble);
  compat::Era04 era;
  expect_words(text_of<TypeError>([&] { f + d; }),
               {"expected float32", "found float64", "argument 2", "'other'"});
  EXPECT_THROW(f * n, TypeError);
  EXPECT_THROW(f < d, TypeError);
  EXPECT_THROW(f.add_(d), TypeError);
  EXPECT_THROW(f.multiply(d), TypeError);
  EXPECT_THROW(maximum(f, d), TypeError);
  EXPECT_THROW(cat({f, d}), TypeError);
  EXPECT_THROW(stack({f, d}), TypeError);
  EXPECT_THROW(where(f > 0, f, d), TypeError);
  Tensor out = empty({2}, TensorOptions(kDouble));
  EXPECT_THROW(add_out(out, f, d), TypeError);
  EXPECT_TRUE(equal(f, ones({2})));
}

TEST(Era04, ScalarsTakeTheOtherSidesDtype) {
  Tensor f = ones({2}), n = ones({2}, TensorOptions(kLong));
  compat::Era04 era;
  EXPECT_EQ((f + tensor(2.5, TensorOptions(kDouble))).scalar_type(), kFloat);
  EXPECT_EQ((tensor(2.5, TensorOptions(kDouble)) + f).scalar_type(), kFloat);
  EXPECT_TRUE(equal(n + 2.5, tensor({3, 3})));
  EXPECT_TRUE(equal(n + tensor(2.5), tensor({3, 3})));
  n += 2.5;
  EXPECT_TRUE(equal(n, tensor({3, 3})));
  Tensor w = tensor(2., TensorOptions(kDouble).requires_grad(true));
  (f * w).sum().backward();
  EXPECT_EQ(w.grad().scalar_type(), kDouble);
  EXPECT_EQ(w.grad().item<double>(), 2);
}

TEST(Era04, IntegersDivideTowardsZero) {
  Tensor n = tensor({7, -7}), two = tensor({2, 2});
  EXPECT_EQ((n / two).scalar_type(), kFloat);
  compat::Era04 era;
  EXPECT_TRUE(equal(n / two, tensor({3, -3})));
  EXPECT_TRUE(equal(n / 2, tensor({3, -3})));
  EXPECT_TRUE(equal(9 / two, tensor({4, 4})));
  EXPECT_TRUE(equal(divide(n, two), tensor({3, -3})));
  Tensor m = n.clone();
  m /= 2;
  EXPECT_TRUE(equal(m, tensor({3, -3})));
  EXPECT_TRUE(equal(tensor({7.}) / 2, tensor({3.5})));
  EXPECT_TRUE(equal(1 / tensor({4.}), tensor({0.25})));
  EXPECT_TRUE(equal(true_divide(n, two), tensor({3.5, -3.5})));
}

// Composites, gradients and other threads run today's rules.
TEST(Era04, StopsAtThePublicFunctions) {
  Tensor x = tensor({1., 2., 3.}).requires_grad_();
  compat::Era04 era;
  EXPECT_EQ(one_hot(tensor({0, 2}), 3).scalar_type(), kLong);
  EXPECT_TRUE(allclose(mse_loss(x, zeros({3})), tensor(14. / 3)));
  x.prod().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({6., 3., 2.})));
  ScalarType elsewhere = kFloat;
  std::thread([&] { elsewhere = arange(3).scalar_type(); }).join();
  EXPECT_EQ(elsewhere, kLong);
  {
    NoGradGuard no_grad;
    EXPECT_EQ(arange(3).scalar_type(), kFloat);
  }
  EXPECT_THROW(x + x.to(kDouble), TypeError);
  EXPECT_EQ(arange(3).scalar_type(), kFloat);  // also after an error
}

}  // namespace
}  // namespace tenon
