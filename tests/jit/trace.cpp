// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Recorded functions give what the functions give, on inputs that were not recorded.
#include "tenon/jit/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/tenon.h"
#include "tests/jit/trace_support.h"

namespace tenon::jit {
namespace {

using namespace trace_test;

TEST(JitTrace, RunsWithoutTheHost) {
  int calls = 0;
  const auto f = [&](const Tensor& x, const Tensor& y) {
    ++calls;
    const auto twice = [](const Tensor& t) { return t * 2; };
    return twice(x).add(y, 3).relu();
  };
  const auto traced = trace(f, {randn({2, 3}), randn({3})});
  traced.graph()->lint();
  const Tensor x = randn({4, 3}), y = randn({4, 1});
  const Tensor expected = f(x, y);
  const int before = calls;
  expect_equal(traced(x, y), expected);
  EXPECT_EQ(calls, before);
  EXPECT_EQ(traced.graph()->str(),
            "graph(%x0 : Tensor,\n"
            "      %x1 : Tensor):\n"
            "  %2 : int = prim::Constant[value=2]()\n"
            "  %3 : Tensor = aten::mul(%x0, %2)\n"
            "  %4 : int = prim::Constant[value=3]()\n"
            "  %5 : Tensor = aten::add(%3, %x1, %4)\n"
            "  %6 : Tensor = aten::relu(%5)\n"
            "  return (%6)\n");
  EXPECT_EQ(parse_graph(traced.graph()->str())->str(), traced.graph()->str());
}

TEST(JitTrace, TakesAndGivesNestedValues) {
  const auto f = [](const std::vector<Tensor>& list, std::pair<Tensor, Tensor> two) {
    std::vector<Tensor> out;
    out.reserve(list.size());
    for (const Tensor& t : list) out.push_back(t + two.first);
    return std::make_tuple(cat(out, 0), std::make_pair(two.second, out));
  };
  const auto example = [] {
    return std::vector<IValue>{std::vector<Tensor>{randn({2}), randn({2})},
                               std::tuple<Tensor, Tensor>(randn({2}), randn({3}))};
  };
  const auto traced = trace(f, example());
  const std::vector<Tensor> list = {randn({2}), randn({2})};
  const auto two = std::make_pair(randn({2}), randn({3}));
  const auto [all, rest] = traced(list, two);
  const auto [all_expected, rest_expected] = f(list, two);
  expect_equal(all, all_expected);
  expect_equal(rest.first, rest_expected.first);
  ASSERT_EQ(rest.second.size(), 2U);
  expect_equal(rest.second[1], rest_expected.second[1]);
}

TEST(JitTrace, UndefinedResultsStayUndefined) {
  const auto traced =
      trace([](const Tensor& x) { return std::make_tuple(x + 1, Tensor()); }, {randn({2})});
  const auto [first, second] = traced(zeros({2}));
  expect_equal(first, ones({2}));
  EXPECT_FALSE(second.defined());
}

TEST(JitTrace, OneTensorForTwoArgumentsIsTwoInputs) {
  const Tensor x = randn({3});
  const auto traced = trace([](const Tensor& a, const Tensor& b) { return a - b; }, {x, x});
  expect_equal(traced(x, zeros({3})), x);
}

TEST(JitTrace, LoopsUnroll) {
  const auto f = [](const Tensor& x) {
    Tensor sum = zeros({x.size(1)});
    for (int64_t i = 0; i < x.size(0); ++i) sum = sum + x[i] * i;
    return sum;
  };
  std::vector<std::size_t> nodes;
  for (int64_t n : {2, 4, 6}) {
    const Warnings quiet;
    const auto traced = trace(f, {randn({n, 3})});
    nodes.push_back(traced.graph()->block()->nodes().size());
    const Tensor x = randn({n, 3});
    expect_equal(traced(x), f(x));
  }
  EXPECT_GT(nodes[1], nodes[0]);
  EXPECT_EQ(nodes[1] - nodes[0], nodes[2] - nodes[1]);
}

TEST(JitTrace, BranchesFreeze) {
  const auto f = [](const Tensor& x) { return x.sum().item<float>() > 0 ? x * 2 : x - 1; };
  const Warnings quiet;
  TraceOptions options;
  const auto traced = trace(f, {ones({2})}, options);
  expect_equal(traced(full({2}, -1.0)), full({2}, -2.0));
}

TEST(JitTrace, LoopsOfGeneratorsAndCallbacksAreNotSeen) {
  std::vector<std::function<Tensor(const Tensor&)>> layers;
  layers.reserve(3);
  for (int i = 0; i < 3; ++i) layers.push_back([i](const Tensor& t) { return t.pow(i + 1); });
  const auto f = [layers](Tensor x) {
    for (const auto& layer : layers) x = layer(x) / 2;
    return x;
  };
  const auto traced = trace(f, {rand({4})});
  layers.clear();
  const Tensor x = rand({7});
  expect_equal(traced(x), f(x));
}

TEST(JitTrace, GradientsGoThrough) {
  const auto f = [](const Tensor& x) { return (x.sin() * x).sum(); };
  const auto traced = trace(f, {randn({3})});
  const Tensor x = randn({5}).requires_grad_(), y = x.detach().clone().requires_grad_();
  f(x).backward();
  traced(y).backward();
  expect_equal(y.grad(), x.grad());
}

TEST(JitTrace, NoGradIsPartOfTheProgram) {
  const auto f = [](const Tensor& x) {
    Tensor factor;
    {
      const NoGradGuard no_grad;
      factor = x.exp();
    }
    return (x * factor).sum();
  };
  const auto traced = trace(f, {randn({3})});
  const Tensor x = randn({3}).requires_grad_(), y = x.detach().clone().requires_grad_();
  f(x).backward();
  traced(y).backward();
  expect_equal(y.grad(), x.grad());
}

TEST(JitTrace, GradientsThatTheFunctionAsksForAreRecorded) {
  const auto force = [](const Tensor& at) {
    const Tensor x = at.detach().requires_grad_();
    const Tensor energy = (x.tanh() * x.exp()).sum() + x.softmax(0).pow(2).sum();
    return autograd::grad({energy}, {x})[0];
  };
  const auto traced = trace(force, {randn({4})});
  const Tensor x = randn({4});
  expect_equal(traced(x), force(x));
}

TEST(JitTrace, RandomOperatorsDrawAgain) {
  const auto f = [](const Tensor& x) {
    return nn::functional::dropout(x, nn::functional::DropoutFuncOptions().p(0.5)) + randn({3});
  };
  const auto traced = trace(f, {ones({3})});
  manual_seed(7);
  const Tensor a = f(ones({3})), b = f(ones({3}));
  manual_seed(7);
  expect_equal(traced(ones({3})), a);
  expect_equal(traced(ones({3})), b);
  EXPECT_FALSE(a.equal(b));
}

TEST(JitTrace, TracingLeavesTheGeneratorAsItWas) {
  manual_seed(3);
  const Tensor expected = rand({4});
  manual_seed(3);
  (void)trace([](const Tensor& x) { return x + rand({4}); }, {ones({4})});
  expect_equal(rand({4}), expected);
}

TEST(JitTrace, OutsideTensorsBecomeConstants) {
  const Tensor weight = randn({3}).requires_grad_();
  const auto traced = trace([weight](const Tensor& x) { return (x * weight).sum(); }, {randn({3})});
  const Tensor x = randn({3});
  traced(x).backward();
  expect_equal(weight.grad(), x);
}

TEST(JitTrace, NumbersOfTheHostBecomeConstants) {
  const auto traced = trace(
      [](const Tensor& x) {
        Tensor filled = empty({3});
        for (int i = 0; i < 3; ++i) filled.data_ptr<float>()[i] = static_cast<float>(i);
        Tensor listed = tensor({1.0, 2.0, 3.0});
        listed.add_(x);
        float values[] = {0, 1, 2};
        Tensor wrapped = from_blob(values, {3});
        wrapped.mul_(1);
        return filled + listed + wrapped;
      },
      {zeros({3})});
  expect_equal(traced(ones({3})), tensor({2.0F, 5.0F, 8.0F}));
  expect_equal(traced(ones({3})), tensor({2.0F, 5.0F, 8.0F}));  // nothing is added up
}

// To torch they are numbers, which do not widen: integers give the default dtypes with them.
TEST(JitTrace, NumbersInFilesStayNumbers) {
  const Tensor half = tensor(0.5, kDouble), turn = view_as_complex(tensor({0.0, -2.0}, kDouble));
  const auto traced = trace(
      [&](const Tensor& x) {
        return std::vector<Tensor>{x * half, x * turn};
      },
      {arange(3)});
  std::stringstream file;
  traced.module().save(file);
  const auto got = load(file).forward({arange(3)}).toTensorVector();
  EXPECT_EQ(got[0].scalar_type(), kFloat);
  EXPECT_EQ(got[1].scalar_type(), kComplexFloat);
  EXPECT_TRUE(imag(got[1]).equal(tensor({0.0F, -2.0F, -4.0F})));
}

TEST(JitTrace, FactoriesAreRecorded) {
  const auto traced = trace(
      [](const Tensor& x) {
        return std::vector<Tensor>{zeros({2, 3}), x.new_ones({2}), arange(4), full({2}, 0.5),
                                   ones_like(x)};
      },
      {randn({5})});
  const std::string graph = traced.graph()->str();
  for (const char* name :
       {"aten::zeros", "aten::new_ones", "aten::arange", "aten::full", "aten::ones_like"}) {
    EXPECT_NE(graph.find(name), std::string::npos) << graph;
  }
  EXPECT_EQ(traced(randn({7}))[4].size(0), 7);
}

}  // namespace
}  // namespace tenon::jit
