// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Pointwise operators that run as one loop program, against themselves one by one.
#include <gtest/gtest.h>

#include <atomic>

#include "jit/fuse/find_groups.h"
#include "jit/run/plan.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/op.h"
#include "tenon/jit.h"
#include "tenon/tenon.h"

namespace tenon::jit {
namespace {

// Counts kernels of loop programs while it lives.
class LoopProgramCounter {
 public:
  LoopProgramCounter() {
    count() = 0;
    core::set_kernel_observer(
        [](void*, const core::Op& op, core::DeviceSlot, int64_t, int64_t) {
          if (std::string_view(op.name) == "_loop_program_") ++count();
        },
        nullptr);
  }
  ~LoopProgramCounter() { core::set_kernel_observer(nullptr, nullptr); }
  static int programs() { return count(); }

 private:
  static std::atomic<int>& count() {
    static std::atomic<int> n;
    return n;
  }
};

std::vector<Tensor> tensors(const IValue& v) {
  if (v.isTensor()) return {v.toTensor()};
  std::vector<Tensor> out;
  for (const IValue& each : v.toTupleRef().items) out.push_back(each.toTensor());
  return out;
}

// The first call runs operator by operator, the second the program.
void expect_fused(const std::string& text, const std::vector<IValue>& inputs, int programs = 1,
                  double tolerance = 2e-6) {
  const auto unit = compile(text);
  const std::vector<Tensor> plain = tensors(unit->run_method("f", inputs));
  const LoopProgramCounter counter;
  const std::vector<Tensor> fused = tensors(unit->run_method("f", inputs));
  EXPECT_EQ(LoopProgramCounter::programs(), programs) << text;
  ASSERT_EQ(plain.size(), fused.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(fused[i].scalar_type(), plain[i].scalar_type()) << text;
    EXPECT_EQ(fused[i].sizes().vec(), plain[i].sizes().vec()) << text;
    EXPECT_EQ(fused[i].strides().vec(), plain[i].strides().vec()) << text;
    EXPECT_TRUE(fused[i].allclose(plain[i], tolerance, tolerance, true))
        << text << (fused[i] - plain[i]).abs().max();
  }
}

std::string of(const std::string& expression) {
  return "def f(x: Tensor, y: Tensor, b: Tensor, s: float, n: int):\n  return " + expression + "\n";
}

class JitFuse : public ::testing::Test {
 protected:
  void SetUp() override { manual_seed(3); }
  std::vector<IValue> inputs() const { return {x, y, b, 0.7, 3}; }
  Tensor x = randn({520, 513}), y = randn({520, 513}), b = randn({513});
};

// Operators whose rule is one operation have their bits.
TEST_F(JitFuse, EveryRuleOfOneStep) {
  for (const char* e : {"torch.tanh(x + y) * 2",
                        "(x - y) / (y * y + 1)",
                        "torch.rsub(x, y, alpha=2) + b",
                        "torch.add(x, y, alpha=0.5).exp()",
                        "x.abs().sqrt() + x.neg().sigmoid()",
                        "torch.square(x) + torch.atan2(x, y)",
                        "torch.maximum(x, y) * torch.minimum(x, b)",
                        "torch.where(x > y, x * 2, y)",
                        "torch.where((x > 0).logical_and(y <= b), x, y - 1)",
                        "x.clamp(-0.5, 0.5) * y",
                        "x.clamp_min(0.1) + y.clamp_max(s)",
                        "torch.relu(x + b) * y",
                        "torch.relu6(x * 3) - y",
                        "torch.leaky_relu(x, 0.1) + y",
                        "torch.hardtanh(x) * y",
                        "torch.threshold(x, 0.1, 2.) + y",
                        "(x * n).floor() + (y * s).ceil() + x.round() + y.trunc()",
                        "x.sign() * y.log1p().isnan().logical_not()",
                        "(x == y).logical_or(x != b).logical_xor(y >= s)",
                        "(x.exp2() + y.expm1()).erf() * x.sin() + y.cos()",
                        "x.abs().rsqrt() + y.reciprocal().atan()"})
    expect_fused(of(e), inputs(), 1, 0);
}

TEST_F(JitFuse, EveryRuleOfSeveralSteps) {
  for (const char* e :
       {"x.pow(2) + y.abs().pow(s) + x.pow(3)", "torch.addcmul(x, y, b, value=0.3) + 1",
        "torch.addcdiv(x, y, b.abs() + 1, value=2)", "torch.silu(x) * y",
        "torch.nn.functional.gelu(x) * y", "torch.nn.functional.gelu(x, approximate='tanh') * y",
        "torch.hardsigmoid(x) + torch.hardswish(y)"})
    expect_fused(of(e), inputs());
}

TEST_F(JitFuse, Dtypes) {
  const std::string sum = of("(x + y) * n - s"), whole = of("(x * n + y) * 2 - n");
  x = x.to(kDouble);
  expect_fused(sum, inputs());
  expect_fused(of("(x > y).logical_and(b > s) + x"), inputs());
  x = randint(-50, 50, {520, 513});
  expect_fused(sum, inputs());
  y = randint(-50, 50, {520, 513}, kInt);
  expect_fused(whole, inputs());
  expect_fused(of("(x.bitwise_and(7)).bitwise_xor(y) + 1"), inputs());
  x = randn({520, 513}, kComplexFloat);
  expect_fused(of("(x + x) * 2"), inputs(), 0);
}

// Each operator computes in float32 and rounds once.
TEST_F(JitFuse, SixteenBitFloatsHaveTheBitsOfTheirOperators) {
  for (const ScalarType t : {kBFloat16, kHalf}) {
    x = x.to(t);
    y = y.to(t);
    b = b.to(t);
    for (const char* e :
         {"torch.tanh(x + y) * 2", "(x - y) / (y * y + 1) * s", "torch.add(x, y, alpha=0.7).exp()",
          "torch.where(x > y, x * 0.3, y) - n", "x.clamp(-0.33, 0.33) * y + b",
          "torch.leaky_relu(x, 0.1) + y", "x.sigmoid() * y - b", "torch.silu(x) * y",
          "torch.nn.functional.gelu(x) * y", "torch.hardswish(y) * 1.5 + x"})
      expect_fused(of(e), inputs(), 1, 0);
    // Its product is of three factors, in another order.
    expect_fused(of("torch.addcmul(x, y, b, value=0.3) + 1"), inputs(), 1, 8e-3);
  }
}

TEST_F(JitFuse, Shapes) {
  const std::string text = of("(x + y * s).tanh() - b");
  y = randn({520, 1});
  expect_fused(text, inputs());
  y = randn({});
  expect_fused(text, inputs());
  x = randn({3, 1, 2, 513});
  y = randn({100, 1, 1});
  expect_fused(text, inputs());
  x = randn({8, 16, 40, 30}).contiguous(MemoryFormat::ChannelsLast);
  y = randn({8, 16, 40, 30}).contiguous(MemoryFormat::ChannelsLast);
  b = randn({16, 1, 1});
  expect_fused(text, inputs());
  y = y.contiguous();  // two orders of memory
  expect_fused(text, inputs(), 0);
  x = randn({513, 520}).t();
  y = randn({513, 520}).t();
  b = randn({520, 1});
  expect_fused(text, inputs());
}

TEST_F(JitFuse, ResultsOfSeveralShapesAreSeveralNests) {
  b = randn({513});
  expect_fused(
      "def f(x: Tensor, y: Tensor, b: Tensor, s: float, n: int):\n"
      "  c = b.exp() * s\n  z = x * c + y\n  return z.tanh(), c, z\n",
      inputs());
}

TEST_F(JitFuse, OneProgramServesAllSizesOfAKind) {
  const auto unit = compile(of("(x + b).tanh() * y"));
  for (const int64_t n : {520, 477, 601}) {
    x = randn({n, 513});
    y = randn({n, 513});
    const LoopProgramCounter counter;
    const Tensor out = unit->run_method("f", x, y, b, 0.5, 1).toTensor();
    EXPECT_TRUE(out.allclose((x + b).tanh() * y, 1e-6, 1e-6));
    EXPECT_EQ(LoopProgramCounter::programs(), n == 520 ? 0 : 1);
  }
  EXPECT_THROW((void)unit->run_method("f", x, randn({5, 513}), b, 0.5, 1), Error);
}

TEST_F(JitFuse, GradientsAreThoseOfTheOperators) {
  const auto unit = compile(of("(x * y).tanh() + b"));
  x.requires_grad_();
  for (int i = 0; i < 3; ++i) {
    const LoopProgramCounter counter;
    const Tensor out = unit->run_method("f", x, y, b, 0.5, 1).toTensor();
    const Tensor g = autograd::grad({out.sum()}, {x})[0];
    const Tensor t = (x * y).tanh();
    EXPECT_TRUE(g.allclose((1 - t * t) * y, 1e-5, 1e-5));
    EXPECT_EQ(LoopProgramCounter::programs(), 0);
  }
  const NoGradGuard no_grad;
  (void)unit->run_method("f", x, y, b, 0.5, 1);
  const LoopProgramCounter counter;
  EXPECT_FALSE(unit->run_method("f", x, y, b, 0.5, 1).toTensor().requires_grad());
  EXPECT_EQ(LoopProgramCounter::programs(), 1);
}

TEST_F(JitFuse, LargeResultsGoPastTheCaches) {
  x = randn({2100, 4099});
  y = randn({2100, 4099});
  b = randn({4099});
  expect_fused(of("(x + b) * y"), inputs());
  expect_fused(
      "def f(x: Tensor, y: Tensor, b: Tensor, s: float, n: int):\n"
      "  z = x * s\n  return z + y, z, z > b\n",
      inputs());
}

TEST_F(JitFuse, SmallTensorsRunByOperators) {
  x = randn({4, 513});
  y = randn({4, 513});
  expect_fused(of("(x + y) * 2"), inputs(), 0);
}

TEST_F(JitFuse, WritesBetweenKeepTheirPlace) {
  expect_fused(
      "def f(x: Tensor, y: Tensor, b: Tensor, s: float, n: int):\n"
      "  z = y.clone()\n  p = z * 2\n  q = z + x\n  z.add_(1)\n  r = p + q\n  return r * z\n",
      inputs());
}

// Exported programs keep nodes that nothing uses; a loop program writes at least one tensor.
TEST_F(JitFuse, ResultsThatNothingUsesRunByOperators) {
  expect_fused(
      "def f(x: Tensor, y: Tensor, b: Tensor, s: float, n: int):\n"
      "  unused = (x * s).tanh() + b\n  return y.relu() * 2\n",
      inputs());
  expect_fused(
      "def f(x: Tensor, y: Tensor, b: Tensor, s: float, n: int):\n"
      "  z = y.relu() * 2\n  unused = (z * s).tanh()\n  return z\n",
      inputs());
}

std::string groups_of(const std::string& text) {
  return fuse::find_groups(parse_graph(text))->str();
}

TEST(JitFuseGroups, AChainIsOneNode) {
  EXPECT_EQ(groups_of("graph(%x : Tensor, %y : Tensor):\n"
                      "  %1 : int = prim::Constant[value=1]()\n"
                      "  %a : Tensor = aten::mul(%x, %y)\n"
                      "  %b : Tensor = aten::add(%a, %y, %1)\n"
                      "  %c : Tensor = aten::mm(%b, %x)\n"
                      "  %d : Tensor = aten::relu(%c)\n"
                      "  %e : Tensor = aten::tanh(%b)\n"
                      "  return (%d, %e)\n"),
            "graph(%x : Tensor,\n"
            "      %y : Tensor):\n"
            "  %1 : int = prim::Constant[value=1]()\n"
            "  %9 : Tensor = prim::FusionGroup_0(%x, %y)\n"
            "  %c : Tensor = aten::mm(%9, %x)\n"
            "  %d : Tensor = aten::relu(%c)\n"
            "  %e : Tensor = aten::tanh(%9)\n"
            "  return (%d, %e)\n"
            "with prim::FusionGroup_0 = graph(%0 : Tensor,\n"
            "      %1 : Tensor):\n"
            "  %2 : Tensor = aten::mul(%0, %1)\n"
            "  %3 : int = prim::Constant[value=1]()\n"
            "  %4 : Tensor = aten::add(%2, %1, %3)\n"
            "  return (%4)\n");
}

TEST(JitFuseGroups, AreCheckedGraphs) {
  const auto g =
      fuse::find_groups(parse_graph("graph(%x : Tensor, %c : bool):\n"
                                    "  %1 : int = prim::Constant[value=1]()\n"
                                    "  %a : Tensor = aten::exp(%x)\n"
                                    "  %b : Tensor = aten::neg(%a)\n"
                                    "  %d : Tensor = prim::If(%c)\n"
                                    "    block0():\n"
                                    "      %e : Tensor = aten::add(%b, %a, %1)\n"
                                    "      %f : Tensor = aten::tanh(%e)\n"
                                    "      -> (%f)\n"
                                    "    block1():\n"
                                    "      -> (%a)\n"
                                    "  return (%d)\n"));
  g->lint();
  int groups = 0;
  for (std::size_t at = 0; (at = g->str().find("prim::FusionGroup_", at + 1)) != std::string::npos;)
    ++groups;
  EXPECT_GE(groups, 2);
}

}  // namespace
}  // namespace tenon::jit
