// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/jit/compile.h"

#include "tests/jit/trace_support.h"

namespace tenon::jit {
namespace {

using namespace trace_test;

TEST(JitCompile, GivesWhatTheFunctionGives) {
  int runs = 0;
  const Tensor scale = randn({300});
  const auto f = tenon::compile([&](const Tensor& x, const Tensor& y) {
    ++runs;
    return std::make_pair((x * scale + y).tanh(), x.sum());
  });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({100, 300}), y = randn({100, 300});
    const auto [z, sum] = f(x, y);
    expect_equal(z, (x * scale + y).tanh());
    expect_equal(sum, x.sum());
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(f.programs(), 1U);
  expect_in(f.str(), "aten::tanh");
}

TEST(JitCompile, CapturedTensorsAreShared) {
  Tensor w = ones({2});
  const auto f = tenon::compile([w](const Tensor& x) { return (x * w).exp(); });
  for (int i = 0; i < 2; ++i) (void)f(ones({2}));
  EXPECT_EQ(f.programs(), 1U);
  w.fill_(2);
  expect_equal(f(ones({2})), full({2}, 2.0).exp());
}

TEST(JitCompile, KindsAndSizes) {
  const auto f = tenon::compile([](const Tensor& x) { return x.relu() * 2; });
  const auto baked = tenon::compile([](const Tensor& x) { return x.sum() / x.size(0); });
  for (const int64_t n : {3, 4, 5, 6}) {
    expect_equal(f(ones({n})), full({n}, 2.0));
    expect_equal(baked(ones({n})), ones({}));
  }
  EXPECT_EQ(f.programs(), 1U);
  EXPECT_EQ(baked.programs(), 0U);
  for (const int64_t n : {3, 4, 5, 6}) expect_equal(baked(ones({n})), ones({}));
  EXPECT_EQ(baked.programs(), 4U);
  for (int i = 0; i < 2; ++i) {
    expect_equal(f(ones({2}, kDouble)), full({2}, 2.0, kDouble));
    expect_equal(f(ones({2, 2})), full({2, 2}, 2.0));
  }
  EXPECT_EQ(f.programs(), 3U);
  const auto fixed = tenon::compile([](const Tensor& x) { return x.relu(); }, {false, 2});
  for (const int64_t n : {3, 4, 5, 3, 4, 5}) expect_equal(fixed(ones({n})), ones({n}));
  EXPECT_EQ(fixed.programs(), 2U);
}

TEST(JitCompile, GradientsGoThrough) {
  const Tensor w = randn({5}).requires_grad_();
  const auto f = tenon::compile([&](const Tensor& x) { return (x * w).tanh().sum(); });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({5}).requires_grad_();
    const auto got = autograd::grad({f(x)}, {x, w});
    const auto expected = autograd::grad({(x * w).tanh().sum()}, {x, w});
    expect_equal(got[0], expected[0]);
    expect_equal(got[1], expected[1]);
  }
  const NoGradGuard no_grad;
  EXPECT_FALSE(f(randn({5})).requires_grad());
}

TEST(JitCompile, AStepOfTrainingIsOneProgram) {
  nn::Linear first(20, 30), second(30, 3);
  std::vector<Tensor> parameters = first->parameters();
  for (const Tensor& p : second->parameters()) parameters.push_back(p);
  int runs = 0;
  const auto loss_of = [&](const Tensor& x, const Tensor& y) {
    const Tensor z = second->forward(nn::functional::silu(first->forward(x)));
    return (z - y).pow(2).mean();
  };
  const auto step = tenon::compile([&](const Tensor& x, const Tensor& y) {
    ++runs;
    const Tensor loss = loss_of(x, y);
    std::vector<Tensor> out = autograd::grad({loss}, parameters);
    out.push_back(loss.detach());
    return out;
  });
  for (int i = 0; i < 4; ++i) {
    const Tensor x = randn({64, 20}), y = randn({64, 3});
    const Tensor loss = loss_of(x, y);
    std::vector<Tensor> expected = autograd::grad({loss}, parameters);
    expected.push_back(loss.detach());
    const std::vector<Tensor> got = step(x, y);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      expect_equal(got[k], expected[k]);
      EXPECT_FALSE(got[k].requires_grad());
    }
    const NoGradGuard no_grad;
    for (std::size_t k = 0; k < parameters.size(); ++k) parameters[k].sub_(got[k] * 0.1);
  }
  EXPECT_EQ(runs, 2);
}

TEST(JitCompile, WhatTheHostDecidesKeepsTheFunction) {
  static std::vector<std::string> warned;
  warned.clear();
  const WarningCallback before = set_warning_handler([](const WarningMessage& w) {
    if (w.category == "compile") warned.emplace_back(w.message);
  });
  const auto f =
      tenon::compile([](const Tensor& x) { return x.sum().item<double>() > 0 ? x * 2 : x * 3; });
  expect_equal(f(ones({2})), full({2}, 2.0));
  expect_equal(f(full({2}, -1.0)), full({2}, -3.0));
  expect_equal(f(ones({2})), full({2}, 2.0));
  set_warning_handler(before);
  ASSERT_EQ(warned.size(), 1U);
  expect_in(warned[0], "the function runs as it is: the value");
  EXPECT_EQ(f.programs(), 0U);
}

// A network and the same steps with and without compile().
struct Training {
  explicit Training(const optim::SGDOptions& options)
      : net(nn::Linear(20, 30), nn::BatchNorm1d(30), nn::SiLU(), nn::Linear(30, 3)),
        sgd(net->parameters(), options) {
    manual_seed(11);
    const NoGradGuard no_grad;
    for (Tensor& p : net->parameters()) p.normal_();
  }
  Tensor step(const Tensor& x, const Tensor& y) {
    sgd.zero_grad();
    const Tensor loss = (net->forward(x) - y).pow(2).mean();
    loss.backward();
    sgd.step();
    return loss.detach();
  }
  nn::Sequential net;
  optim::SGD sgd;
};

TEST(JitCompile, AnOptimizerIsPartOfTheStep) {
  for (const double momentum : {0., 0.9}) {
    Training plain(optim::SGDOptions(0.01).momentum(momentum)),
        compiled(optim::SGDOptions(0.01).momentum(momentum));
    int runs = 0;
    const auto step = tenon::compile([&](const Tensor& x, const Tensor& y) {
      ++runs;
      return compiled.step(x, y);
    });
    for (int i = 0; i < 8; ++i) {
      const Tensor x = randn({64, 20}), y = randn({64, 3});
      expect_equal(step(x, y), plain.step(x, y));
    }
    EXPECT_LE(runs, 4);
    EXPECT_EQ(step.programs(), 1U);
    const auto expected = plain.net->named_parameters(), got = compiled.net->named_parameters();
    for (const auto& p : expected) {
      expect_equal(got[p.key()], p.value());
      expect_equal(got[p.key()].grad(), p.value().grad());
    }
    for (const auto& b : plain.net->named_buffers())
      expect_equal(compiled.net->named_buffers()[b.key()], b.value());
  }
}

TEST(JitCompile, GradientsAreSetOrAddedTo) {
  const Tensor w = randn({5}).requires_grad_();
  const auto f = tenon::compile([&](const Tensor& x) {
    (x * w).sum().backward();
    return x * 2;
  });
  const Tensor x = randn({5});
  for (int i = 0; i < 6; ++i) {  // set, and the caller clears
    (void)f(x);
    expect_equal(w.grad(), x);
    w.mutable_grad() = Tensor();
  }
  EXPECT_EQ(f.programs(), 1U);
  for (int i = 1; i < 6; ++i) {  // added to: not what the program was recorded for
    (void)f(x);
    EXPECT_TRUE(w.grad().allclose(x * i));
  }
}

TEST(JitCompile, OperatorsThatChangeKeepTheFunction) {
  static std::vector<std::string> warned;
  warned.clear();
  const WarningCallback before = set_warning_handler([](const WarningMessage& w) {
    if (w.category == "compile") warned.emplace_back(w.message);
  });
  double n = 0;
  const auto f = tenon::compile([&](const Tensor& x) { return x * ++n; });
  for (int i = 1; i < 9; ++i) expect_equal(f(ones({2})), full({2}, double(i)));
  set_warning_handler(before);
  ASSERT_EQ(warned.size(), 1U);
  expect_in(warned[0], "its operators change from call to call");
}

TEST(JitCompile, NumbersMadeByTheFunctionAreOneProgram) {
  const auto f = tenon::compile([](const Tensor& x) { return x + tensor({1., 2.}); });
  for (int i = 0; i < 3; ++i) expect_equal(f(ones({2})), tensor({2., 3.}));
  EXPECT_EQ(f.programs(), 1U);
}

TEST(JitCompile, OneTensorTwiceIsTwoArguments) {
  const Tensor captured = full({2}, 3.0);
  const auto f =
      tenon::compile([&](const Tensor& a, const Tensor& b) { return a * 10 + b + captured; });
  const Tensor one = ones({2});
  for (int i = 0; i < 3; ++i) expect_equal(f(one, one), full({2}, 14.0));
  EXPECT_EQ(f.programs(), 1U);
  expect_equal(f(one, full({2}, 2.0)), full({2}, 15.0));
  const auto g = tenon::compile([&](const Tensor& a) { return a * 10 + captured; });
  for (int i = 0; i < 3; ++i) expect_equal(g(captured), full({2}, 33.0));
  expect_equal(g(one), full({2}, 13.0));
}

TEST(JitCompile, ModulesByTheirModes) {
  nn::Sequential net(nn::Linear(6, 4), nn::Dropout(0.5), nn::BatchNorm1d(4));
  const auto f = tenon::compile(net);
  const Tensor x = randn({8, 6});
  for (int i = 0; i < 3; ++i) {
    net->eval();
    expect_equal(f(x), net->forward(x));
    net->train();
    manual_seed(i);
    const Tensor got = f(x);
    manual_seed(i);
    expect_equal(got, net->forward(x));
  }
  EXPECT_EQ(f.programs(), 2U);
}

TEST(JitCompile, ErrorsAreThoseOfTheFunction) {
  const auto f = tenon::compile([](const Tensor& a, const Tensor& b) { return (a + b).exp(); });
  EXPECT_THROW((void)f(ones({2}), ones({3})), Error);
  expect_equal(f(ones({2}), ones({2})), full({2}, 2.0).exp());
  EXPECT_THROW((void)f(ones({2}), ones({3})), Error);
}

TEST(JitCompile, ResetForgets) {
  double factor = 2;
  auto f = tenon::compile([&](const Tensor& x) { return x * factor; });
  for (int i = 0; i < 2; ++i) (void)f(ones({2}));
  factor = 3;
  expect_equal(f(ones({2})), full({2}, 2.0));
  f.reset();
  expect_equal(f(ones({2})), full({2}, 3.0));
}

}  // namespace
}  // namespace tenon::jit
