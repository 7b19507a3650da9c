// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/anomaly_mode.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/log.h"
#include "tests/support.h"

namespace tenon {
namespace {

using autograd::AnomalyMode;
using autograd::DetectAnomalyGuard;
using test::expect_words;
using test::text_of;

std::vector<std::string> g_warnings;

class AnomalyModeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_warnings.clear();
    before_ = set_warning_handler([](const WarningMessage& w) {
      if (w.category == "anomaly") g_warnings.emplace_back(w.message);
    });
  }
  void TearDown() override { set_warning_handler(before_); }

 private:
  WarningCallback before_ = nullptr;
};

Tensor leaf(double value) { return full({2, 3}, value).requires_grad_(); }

TEST_F(AnomalyModeTest, GuardsNest) {
  EXPECT_FALSE(AnomalyMode::is_enabled());
  {
    const DetectAnomalyGuard outer;
    EXPECT_TRUE(AnomalyMode::is_enabled());
    EXPECT_TRUE(AnomalyMode::should_check_nan());
    {
      const DetectAnomalyGuard inner(/*check_nan=*/false);
      EXPECT_TRUE(AnomalyMode::is_enabled());
      EXPECT_FALSE(AnomalyMode::should_check_nan());
    }
    EXPECT_TRUE(AnomalyMode::should_check_nan());
  }
  EXPECT_FALSE(AnomalyMode::is_enabled());
}

TEST_F(AnomalyModeTest, NamesTheCallWhoseGradientFails) {
  const DetectAnomalyGuard guard;
  const Tensor x = leaf(3), y = x * x, z = y.exp();
  z.add_(1);  // exp has saved its result
  expect_words(text_of([&] { z.sum().backward(); }), {"inplace"});
  ASSERT_EQ(g_warnings.size(), 1u);
  expect_words(g_warnings[0], {"Error detected in ExpBackward", "Traceback of forward call",
                               "exp(float32 [2, 3])", "#0 ", "test_autograd"});
}

TEST_F(AnomalyModeTest, NamesTheCallOfAWriteThroughAView) {
  const DetectAnomalyGuard guard;
  const Tensor x = leaf(3), base = x * 1, other = leaf(2) * 1;
  base.select(0, 1).mul_(other.select(0, 0));
  other.zero_();  // mul_ has saved it
  expect_words(text_of([&] { base.sum().backward(); }), {"inplace"});
  ASSERT_EQ(g_warnings.size(), 1u);
  expect_words(g_warnings[0], {"CopySlices", "mul.Tensor(float32 [3], float32 [3])"});
}

TEST_F(AnomalyModeTest, RefusesNan) {
  const Tensor x = leaf(0);
  const Tensor zero = zeros({2, 3});
  const auto pass = [&] { (x.sqrt() * zero).sum().backward(); };  // 0 / 0
  pass();
  EXPECT_TRUE(x.grad().isnan().all().item<bool>());
  EXPECT_TRUE(g_warnings.empty());
  const DetectAnomalyGuard guard;
  expect_words(text_of(pass), {"SqrtBackward", "returned nan", "[2, 3]"});
  ASSERT_EQ(g_warnings.size(), 1u);
  expect_words(g_warnings[0], {"sqrt(float32 [2, 3])"});
  const DetectAnomalyGuard unchecked(/*check_nan=*/false);
  pass();
  EXPECT_EQ(g_warnings.size(), 1u);
}

TEST_F(AnomalyModeTest, SaysThatTheForwardPassWasNotWatched) {
  const Tensor x = leaf(0);
  const Tensor y = (x.sqrt() * zeros({2, 3})).sum();
  const DetectAnomalyGuard guard;
  EXPECT_THROW(y.backward(), Error);
  ASSERT_EQ(g_warnings.size(), 1u);
  expect_words(g_warnings[0], {"SqrtBackward", "No forward pass information"});
}

// The node of a second gradient was made by a node of the first.
TEST_F(AnomalyModeTest, NamesTheCallBehindASecondGradient) {
  const DetectAnomalyGuard guard;
  const Tensor x = tensor({0.}, TensorOptions(kFloat)).requires_grad_();
  const Tensor y = x.pow(1.5);
  const Tensor first = autograd::grad({y}, {x}, {}, true, /*create_graph=*/true)[0];
  expect_words(
      text_of([&] { autograd::grad({first}, {x}, {tensor({0.}, TensorOptions(kFloat))}); }),
      {"returned nan"});
  ASSERT_EQ(g_warnings.size(), 2u);
  expect_words(g_warnings[0], {"Traceback of forward call that caused the error"});
  expect_words(g_warnings[1], {"Traceback of forward call that induced the previous calculation",
                               "pow.Tensor_Scalar(float32 [1], 1.5)"});
}

struct Broken : autograd::Function<Broken> {
  static Tensor forward(autograd::AutogradContext*, Tensor x) { return x * 2; }
  static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list g) {
    return {g[0] * std::numeric_limits<double>::quiet_NaN()};
  }
};

TEST_F(AnomalyModeTest, NamesAFunctionOfTheProgram) {
  const DetectAnomalyGuard guard;
  expect_words(text_of([] { Broken::apply(leaf(1)).sum().backward(); }), {"Broken"});
  ASSERT_EQ(g_warnings.size(), 1u);
  expect_words(g_warnings[0], {"Error detected in", "Broken", "#0 "});
}

TEST_F(AnomalyModeTest, ChangesNoGradient) {
  const auto gradient = [] {
    const Tensor x = leaf(2);
    Tensor y = x.exp() * x;
    y.select(0, 0).mul_(3);
    y.sum().backward();
    return x.grad();
  };
  const Tensor plain = gradient();
  const DetectAnomalyGuard guard;
  EXPECT_TRUE(equal(gradient(), plain));
  EXPECT_TRUE(g_warnings.empty());
}

}  // namespace
}  // namespace tenon
