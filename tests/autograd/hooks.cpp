// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Hooks on tensors, on nodes and on leaves: order, replacement, removal, refusals.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

using autograd::FunctionPostHook;
using autograd::FunctionPreHook;
using autograd::variable_list;
using test::expect_words;
using test::text_of;

// A hook of a node from a function.
template <class F>
struct Pre final : FunctionPreHook {
  explicit Pre(F fn) : f(std::move(fn)) {}
  variable_list operator()(const variable_list& grads) override { return f(grads); }
  F f;
};
template <class F>
struct Post final : FunctionPostHook {
  explicit Post(F fn) : f(std::move(fn)) {}
  variable_list operator()(const variable_list& computed, const variable_list& given) override {
    return f(computed, given);
  }
  F f;
};
template <class F>
std::unique_ptr<FunctionPreHook> pre(F f) {
  return std::make_unique<Pre<F>>(std::move(f));
}
template <class F>
std::unique_ptr<FunctionPostHook> post(F f) {
  return std::make_unique<Post<F>>(std::move(f));
}

Tensor leaf_of_two(double value) { return full({2}, value).requires_grad_(); }
float first(const Tensor& t) { return t.reshape({-1}).select(0, 0).item<float>(); }

TEST(Hooks, OfATensorReplaceItsGradientUntilTheyAreRemoved) {
  const Tensor x = leaf_of_two(1);
  Tensor y = x * 2;
  const unsigned doubles = y.register_hook([](const Tensor& g) { return g * 2; });
  int seen = 0;
  y.register_hook([&](const Tensor& g) { seen = static_cast<int>(first(g)); });
  y.sum().backward({}, /*retain_graph=*/true);
  EXPECT_EQ(first(x.grad()), 4);
  EXPECT_EQ(seen, 2);
  y.remove_hook(doubles);
  x.mutable_grad().reset();
  y.sum().backward();
  EXPECT_EQ(first(x.grad()), 2);
  EXPECT_EQ(seen, 1);
  expect_words(text_of<IndexError>([&] { y.remove_hook(7); }), {"no hook 7"});
}

TEST(Hooks, MayRemoveThemselvesAndAddOthersWhileTheyRun) {
  const Tensor x = leaf_of_two(1);
  const Tensor y = x * 2;
  int once = 0, later = 0;
  unsigned pos = 0;
  pos = y.register_hook([&](const Tensor&) {
    ++once;
    y.remove_hook(pos);
    for (int i = 0; i < 20; ++i) y.register_hook([&](const Tensor&) { ++later; });
  });
  y.sum().backward({}, true);
  y.sum().backward();
  EXPECT_EQ(once, 1);
  EXPECT_EQ(later, 40);
}

TEST(Hooks, OfATensorMustKeepShapeAndType) {
  const Tensor x = leaf_of_two(1);
  const auto message = [&](const Tensor& replacement) {
    const Tensor y = x * 2;
    y.register_hook([&](const Tensor&) { return replacement; });
    return text_of([&] { y.sum().backward(); });
  };
  expect_words(message(ones({3})), {"hook of MulScalarBackward", "size/type/device", "[3]", "[2]"});
  expect_words(message(ones({2}, TensorOptions(kDouble))), {"float64"});
}

TEST(Hooks, ThatThrowEndThePass) {
  const Tensor x = leaf_of_two(1);
  const Tensor y = x * 2;
  y.register_hook([](const Tensor&) { throw std::runtime_error("of the program"); });
  EXPECT_THROW(y.sum().backward(), std::runtime_error);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Hooks, OfANodeRunBeforeAndAfterIt) {
  const Tensor a = leaf_of_two(2), b = leaf_of_two(5);
  const Tensor y = a * b;
  std::vector<std::string> order;
  const auto node = y.grad_fn();
  node->add_post_hook(post([&](const variable_list& computed, const variable_list& given) {
    order.push_back("post");
    EXPECT_EQ(computed.size(), 2u);
    EXPECT_EQ(given.size(), 1u);
    EXPECT_EQ(first(given[0]), 3);  // what the hook before made of it
    EXPECT_EQ(first(computed[0]), 15);
    return variable_list{computed[0] + 1, Tensor()};
  }));
  node->add_pre_hook(pre([&](const variable_list& grads) {
    order.push_back("pre");
    return variable_list{grads[0] * 3};
  }));
  y.register_hook([&](const Tensor&) { order.push_back("tensor"); });
  y.sum().backward();
  EXPECT_EQ(order, (std::vector<std::string>{"tensor", "pre", "post"}));
  EXPECT_EQ(first(a.grad()), 16);
  EXPECT_FALSE(b.grad().defined());
}

TEST(Hooks, OfANodeAreTakenAwayByTheirKey) {
  const Tensor x = leaf_of_two(1);
  const Tensor y = x * 2;
  int calls = 0;
  const auto count = [&](const variable_list& g) {
    ++calls;
    return g;
  };
  const std::uintptr_t key = y.grad_fn()->add_pre_hook(pre(count));
  const std::uintptr_t after = y.grad_fn()->add_post_hook(
      post([&](const variable_list& computed, const variable_list&) { return count(computed); }));
  y.sum().backward({}, true);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(y.grad_fn()->del_pre_hook(key));
  EXPECT_FALSE(y.grad_fn()->del_pre_hook(key));
  EXPECT_FALSE(y.grad_fn()->del_post_hook(key));
  EXPECT_TRUE(y.grad_fn()->del_post_hook(after));
  y.sum().backward();
  EXPECT_EQ(calls, 2);
}

TEST(Hooks, OfANodeMustReturnWhatTheyGot) {
  const Tensor x = leaf_of_two(1);
  const auto with = [&](auto add) {
    const Tensor y = x * 2;
    add(*y.grad_fn());
    return text_of([&] { y.sum().backward(); });
  };
  expect_words(with([](autograd::Node& n) {
                 n.add_pre_hook(pre([](const variable_list&) { return variable_list(); }));
               }),
               {"pre hook of MulScalarBackward", "0 gradients, expected 1"});
  expect_words(with([](autograd::Node& n) {
                 n.add_pre_hook(pre([](const variable_list&) { return variable_list{ones({7})}; }));
               }),
               {"pre hook of MulScalarBackward", "[7] float32 instead of [2]"});
  expect_words(with([](autograd::Node& n) {
                 n.add_post_hook(post([](const variable_list& c, const variable_list&) {
                   return variable_list(c.size() + 1);
                 }));
               }),
               {"post hook of MulScalarBackward", "expected 1"});
}

TEST(Hooks, OfTheNodeOfALeafOutliveIt) {
  const Tensor x = leaf_of_two(1);
  int calls = 0;
  autograd::impl::grad_accumulator(x)->add_post_hook(
      post([&](const variable_list& computed, const variable_list& given) {
        ++calls;
        EXPECT_EQ(first(given[0]), 2);
        return computed;
      }));
  (x * 2).sum().backward();
  (x * 2).sum().backward();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(autograd::impl::grad_accumulator(x * 2).get(), nullptr);
}

TEST(Hooks, AfterTheGradientOfALeafSeeIt) {
  const Tensor x = leaf_of_two(1);
  std::vector<float> seen;
  const unsigned pos = x.register_post_accumulate_grad_hook(
      [&](const Tensor& t) { seen.push_back(first(t.grad())); });
  (x * 2).sum().backward();
  (x * 3).sum().backward();
  EXPECT_EQ(seen, (std::vector<float>{2, 5}));
  autograd::grad({(x * 2).sum()}, {x});  // adds to no gradient
  EXPECT_EQ(seen.size(), 2u);
  x.remove_post_accumulate_grad_hook(pos);
  (x * 2).sum().backward();
  EXPECT_EQ(seen.size(), 2u);
}

// What such hooks are for: the optimizer's step as the gradients come, which then go.
TEST(Hooks, AfterTheGradientOfALeafMayTakeAStep) {
  const Tensor x = leaf_of_two(1);
  x.register_post_accumulate_grad_hook([](const Tensor& t) {
    const NoGradGuard no_grad;
    t.sub_(t.grad(), 0.5);
    t.mutable_grad().reset();
  });
  (x * 2).sum().backward();
  EXPECT_EQ(first(x), 0);
  EXPECT_FALSE(x.grad().defined());
}

struct CountLeaf final : autograd::PostAccumulateGradHook {
  explicit CountLeaf(int& n) : calls(n) {}
  void operator()(const Tensor& t) override {
    EXPECT_TRUE(t.grad().defined());
    ++calls;
  }
  int& calls;
};

TEST(Hooks, AfterTheGradientAreReplacedByLibtorchsName) {
  const Tensor x = leaf_of_two(1);
  int others = 0, calls = 0;
  x.register_post_accumulate_grad_hook([&](const Tensor&) { ++others; });
  autograd::impl::set_post_acc_grad_hooks(x, std::make_unique<CountLeaf>(calls));
  (x * 2).sum().backward();
  autograd::impl::set_post_acc_grad_hooks(x, nullptr);
  (x * 2).sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(others, 0);
}

TEST(Hooks, AfterTheGradientAreForLeavesAlone) {
  const Tensor x = leaf_of_two(1), y = x * 2;
  expect_words(text_of([&] { y.register_post_accumulate_grad_hook([](const Tensor&) {}); }),
               {"register_post_accumulate_grad_hook", "a leaf"});
  expect_words(text_of([&] { ones({2}).register_post_accumulate_grad_hook([](const Tensor&) {}); }),
               {"requires grad"});
  expect_words(text_of<IndexError>([&] { x.remove_post_accumulate_grad_hook(0); }), {"no hook 0"});
}

}  // namespace
}  // namespace tenon
