// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the backward of a program's own function may return: AG14, AG16, and what is put right.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

using autograd::AutogradContext;
using autograd::variable_list;
using test::expect_words;

// Multiplies, and returns whatever the test put here as gradients.
struct Given : autograd::Function<Given> {
  static inline variable_list grads;
  static Tensor forward(AutogradContext*, Tensor a, double factor, Tensor b) { return (a + b) * factor; }
  static variable_list backward(AutogradContext*, variable_list) { return grads; }
};

std::string message(variable_list grads) {
  Tensor a = ones({2, 3}).requires_grad_(), b = ones({3}).requires_grad_();
  Given::grads = std::move(grads);
  return test::text_of([&] { Given::apply(a, 2.0, b).sum().backward(); });
}

TEST(CustomFunction, RefusesAWrongShape) {
  expect_words(message({ones({2, 3}), Tensor(), ones({2})}),
               {"Given returned an invalid gradient at 2", "got [2]", "expected [3]"});
  expect_words(message({ones({3}), Tensor(), ones({3})}), {"at 0: got [3], expected [2, 3]"});
}

TEST(CustomFunction, RefusesAWrongNumber) {
  expect_words(message({ones({2, 3})}), {"Given backward returned 1 gradients, expected 3"});
  const variable_list four = {ones({2, 3}), Tensor(), ones({3}), ones({3})};
  expect_words(message(four), {"returned 4 gradients, expected 3"});
  expect_words(message({ones({2, 3}), ones({1}), ones({3})}), {"at 1: that argument is no tensor"});
}

TEST(CustomFunction, SumsAndCastsWhatFits) {
  Tensor a = ones({2, 3}).requires_grad_(), b = ones({3}).requires_grad_();
  Given::grads = {ones({2, 3}, TensorOptions(kDouble)), Tensor(), ones({2, 3})};
  Given::apply(a, 2.0, b).sum().backward();
  EXPECT_EQ(a.grad().scalar_type(), kFloat);
  EXPECT_TRUE(equal(b.grad(), full({3}, 2.)));
  // Of an argument that asks for none, anything is dropped.
  Tensor plain = ones({3}), c = ones({2, 3}).requires_grad_();
  Given::grads = {ones({2, 3}), Tensor(), ones({7})};
  Given::apply(c, 2.0, plain).sum().backward();
  EXPECT_TRUE(equal(c.grad(), ones({2, 3})));
}

}  // namespace
}  // namespace tenon
