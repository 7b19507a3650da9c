// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the backward of a program's own function may return: what is an error (their count, a shape,
// a device), and what is corrected.
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
  static Tensor forward(AutogradContext*, Tensor a, double factor, Tensor b) {
    return (a + b) * factor;
  }
  static variable_list backward(AutogradContext*, variable_list) { return grads; }
};

std::string message(variable_list grads) {
  Tensor a = ones({2, 3}).requires_grad_(), b = ones({3}).requires_grad_();
  Given::grads = std::move(grads);
  return test::text_of([&] { Given::apply(a, 2.0, b).sum().backward(); });
}

TEST(CustomFunction, RefusesAWrongShape) {
  expect_words(
      message({ones({2, 3}), Tensor(), ones({2})}),
      {"Given returned an invalid gradient at 2", "got [2]", "expected shape compatible with [3]"});
  expect_words(message({ones({3}), Tensor(), ones({3})}),
               {"at 0: got [3] but expected shape compatible with [2, 3]"});
}

TEST(CustomFunction, RefusesAWrongNumber) {
  expect_words(message({ones({2, 3})}), {"Given backward returned 1 gradients, expected 3"});
  const variable_list four = {ones({2, 3}), Tensor(), ones({3}), ones({3})};
  expect_words(message(four), {"returned 4 gradients, expected 3"});
  expect_words(message({ones({2, 3}), ones({1}), ones({3})}),
               {"at 1: that argument is not a tensor"});
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

// Doubles its second argument in place, and returns what the test asks for.
struct Doubled : autograd::Function<Doubled> {
  enum What { kItself, kTwice, kAnother };
  static variable_list forward(AutogradContext* ctx, const Tensor& factor, const Tensor& x,
                               What what) {
    ctx->save_for_backward({factor});
    x.data_ptr<float>()[0] *= 2;  // a write that no operator counts
    ctx->mark_dirty({x});
    if (what == kAnother) return {x.clone()};
    return what == kTwice ? variable_list{x, x} : variable_list{x};
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    return {g[0].sum() * 100, g[0] * ctx->get_saved_variables()[0], Tensor()};
  }
};

TEST(CustomFunction, CountsItsWrites) {
  Tensor f = tensor(3., TensorOptions(kFloat)).requires_grad_(), x = ones({2}),
         y = ones({2}).requires_grad_() * 1;
  for (const Tensor& t : {x, y}) {
    const int64_t before = t._version();
    Doubled::apply(f, t, Doubled::kItself);
    EXPECT_EQ(t._version(), before + 1);
  }
  const Tensor saved = (y * y).sum();
  Doubled::apply(f, y, Doubled::kItself);
  expect_words(test::text_of([&] { saved.backward(); }), {"modified by an inplace operation"});
}

TEST(CustomFunction, WritesThroughAViewWhateverArgumentItIs) {
  Tensor f = tensor(3., TensorOptions(kFloat)).requires_grad_(), x = ones({3}).requires_grad_();
  Tensor base = x * 1;
  const Tensor out = Doubled::apply(f, base.slice(0, 0, 2, 1), Doubled::kItself)[0];
  EXPECT_TRUE(out.requires_grad());
  const variable_list g = autograd::grad({base.sum()}, {x, f});
  EXPECT_TRUE(equal(g[0], tensor({3., 3., 1.}, TensorOptions(kFloat))));
  EXPECT_EQ(g[1].item<float>(), 200);
}

TEST(CustomFunction, RefusesWritesThatCannotBeRecorded) {
  const Tensor f = tensor(3., TensorOptions(kFloat)), leaf = ones({2}).requires_grad_();
  expect_words(test::text_of([&] { Doubled::apply(f, leaf, Doubled::kItself); }),
               {"Doubled", "mark_dirty", "a leaf"});
  expect_words(test::text_of([&] { Doubled::apply(f, leaf.slice(0, 0, 1, 1), Doubled::kItself); }),
               {"mark_dirty", "a view of a leaf"});
  expect_words(test::text_of([&] { Doubled::apply(f, leaf * 1, Doubled::kAnother); }),
               {"mark_dirty", "return"});
  const Tensor base = leaf * 1;
  expect_words(test::text_of([&] { Doubled::apply(f, base.slice(0, 0, 1, 1), Doubled::kTwice); }),
               {"mark_dirty", "a view", "one tensor, not 2"});
  NoGradGuard no_grad;
  EXPECT_TRUE(Doubled::apply(f, leaf, Doubled::kItself)[0].is_same(leaf));
}

// Each backward goes backward through another call, to a depth that one stack would not hold.
struct Nested : autograd::Function<Nested> {
  static Tensor forward(AutogradContext* ctx, Tensor x, int64_t depth) {
    ctx->saved_data["depth"] = depth;
    return x * 2;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const int64_t depth = ctx->saved_data["depth"].toInt();
    Tensor inner = ones({1}).requires_grad_();
    if (depth > 0) {
      AutoGradMode on(true);
      Nested::apply(inner, depth - 1).sum().backward();
    } else {
      inner.mutable_grad() = ones({1});
    }
    return {grads[0] * inner.grad(), Tensor()};
  }
};

TEST(CustomFunction, GoesBackwardInBackwardToAnyDepth) {
  Tensor x = ones({1}).requires_grad_();
  Nested::apply(x, 5000).backward();
  EXPECT_EQ(x.grad().item<float>(), 1);
}

}  // namespace
}  // namespace tenon
