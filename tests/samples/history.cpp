// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples 2 to 5, 11, 36 and 37: what is recorded, and what looks through it.
#include "tests/samples/support.h"

namespace tenon::samples {
namespace {

TEST(Samples, S02_WhenTrackingStarts) {
  compat::Era04 era;
  const Tensor x = ones({1}), y = ones({1}), z = x + y;
  EXPECT_FALSE(x.requires_grad());
  EXPECT_FALSE(z.requires_grad());
  expect_words(text_of([&] { z.backward(); }), {"element 0", "does not require grad", "grad_fn"});
  const Tensor w = ones({1}, requires_grad());
  EXPECT_TRUE(w.requires_grad());
  const Tensor total = w + z;
  EXPECT_TRUE(total.requires_grad());
  total.backward();
  EXPECT_EQ(printed(w.grad()), "tensor([ 1.])");
  EXPECT_FALSE(z.grad().defined() || x.grad().defined() || y.grad().defined());
}

TEST(Samples, S03_TheFlag) {
  const Tensor existing = zeros({3});
  existing.requires_grad_();
  EXPECT_TRUE(existing.requires_grad());
  EXPECT_TRUE(zeros({3, 4}, requires_grad()).requires_grad());
}

TEST(Samples, S04_DetachIsSafe) {
  compat::Era04 era;
  const Tensor a = tensor({1., 2., 3.}, requires_grad()), out = a.sigmoid(), c = out.detach();
  c.zero_();
  EXPECT_EQ(printed(c), "tensor([ 0.,  0.,  0.])");
  EXPECT_EQ(printed(out), "tensor([ 0.,  0.,  0.])");
  expect_words(text_of([&] { out.sum().backward(); }),
               {"needed for gradient", "modified by an in-place operation", "SigmoidBackward"});
}

TEST(Samples, S05_DataIsNot) {
  compat::Era04 era;
  const Tensor a = tensor({1., 2., 3.}, requires_grad()), out = a.sigmoid(), c = out.data();
  c.zero_();
  out.sum().backward();
  EXPECT_EQ(printed(a.grad()), "tensor([ 0.,  0.,  0.])");
}

TEST(Samples, S11_ScopesInsteadOfVolatile) {
  const Tensor x = zeros({1}, requires_grad());
  {
    NoGradGuard no_grad;
    EXPECT_FALSE((x * 2).requires_grad());
  }
  const bool is_train = false;
  {
    AutoGradMode mode(is_train);
    EXPECT_FALSE((x * 2).requires_grad());
  }
  GradMode::set_enabled(true);
  EXPECT_TRUE((x * 2).requires_grad());
  GradMode::set_enabled(false);
  EXPECT_FALSE((x * 2).requires_grad());
  GradMode::set_enabled(true);
}

TEST(Samples, S36_RetainGrad) {
  const Tensor x = tensor({1., -2.}, requires_grad());
  const auto run = [&](bool retain) {
    const Tensor h1 = 3 * x;
    if (retain) h1.retain_grad();
    (h1 * h1).sum().backward();
    return std::pair(h1, h1.grad());
  };
  EXPECT_FALSE(run(false).second.defined());
  const auto [h1, grad] = run(true);
  EXPECT_TRUE(equal(grad, 2 * h1.detach()));
}

TEST(Samples, S37_NoTruthValue) {
  static_assert(!std::is_constructible_v<bool, Tensor>, "if (b[0]) does not compile");
  const Tensor b = tensor({0., 1.});
  EXPECT_FALSE(b[0].is_nonzero());
  EXPECT_TRUE(b[1].is_nonzero());
  expect_words(text_of<ValueError>([&] { (void)b.is_nonzero(); }), {"ambiguous"});
}

}  // namespace
}  // namespace tenon::samples
