// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs of language/programs.py give what Python itself computes (language/results.txt, written
// by language/expect.py), and graphs have the form that TorchScript gives them.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tenon/jit.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

std::string read_file(const std::string& name) {
  std::ifstream in(std::filesystem::path(TENON_TEST_JIT) / "language" / name);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string printed(const IValue& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

TEST(JitLanguage, ProgramsComputeWhatPythonDoes) {
  const auto unit = compile(read_file("programs.py"));
  std::istringstream results(read_file("results.txt"));
  int n = 0;
  for (std::string line; std::getline(results, line); ++n) {
    const std::size_t colon = line.find(": ");
    const std::string name = line.substr(0, colon);
    unit->get_function(name).graph()->lint();
    EXPECT_EQ(printed(unit->run_method(name, {})), line.substr(colon + 2)) << name;
  }
  EXPECT_GE(n, 20);
}

std::string graph_of(const std::string& text) {
  const auto unit = compile(text);
  const auto graph = unit->get_function("f").graph();
  graph->lint();
  return graph->str();
}
// How often `what` stands in `text`.
int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
  return n;
}

TEST(JitLanguage, LoopsCarryWhatTheyAssign) {
  EXPECT_EQ(graph_of("def f(x: Tensor, n: int):\n"
                     "  for i in range(n):\n"
                     "    x = x + i\n"
                     "  return x\n"),
            "graph(%x.1 : Tensor,\n"
            "      %n : int):\n"
            "  %3 : bool = prim::Constant[value=1]()\n"
            "  %x : Tensor = prim::Loop(%n, %3, %x.1)\n"
            "    block0(%i : int, %x.2 : Tensor):\n"
            "      %6 : int = prim::Constant[value=1]()\n"
            "      %x.3 : Tensor = aten::add(%x.2, %i, %6)\n"
            "      %8 : bool = prim::Constant[value=1]()\n"
            "      -> (%8, %x.3)\n"
            "  return (%x)\n");
}

TEST(JitLanguage, WhatFollowsAReturnStandsInTheOtherBranch) {
  const std::string g = graph_of(
      "def f(x: Tensor, n: int):\n"
      "  if n > 1:\n"
      "    return x\n"
      "  y = x * 2\n"
      "  return y\n");
  EXPECT_EQ(count(g, "prim::If"), 1) << g;
  EXPECT_EQ(count(g, "Uninitialized"), 0) << g;
}

TEST(JitLanguage, KnownConditionsCompileOneBranch) {
  const std::string g = graph_of(
      "def f(x: Tensor, n: Optional[int]):\n"
      "  if torch.jit.is_scripting():\n"
      "    y = x.relu()\n"
      "  else:\n"
      "    y = unknown_name(x)\n"
      "  if x is None:\n"
      "    return unknown_name(y)\n"
      "  if isinstance(y, Tensor):\n"
      "    y = y + 1\n"
      "  return y\n");
  EXPECT_EQ(count(g, "prim::If"), 0) << g;
}

TEST(JitLanguage, IndicesOfTensors) {
  const std::string g = graph_of(
      "def f(x: Tensor):\n"
      "  x[0] = 1\n"
      "  x[x > 2] = 3.0\n"
      "  x[1:, ::2] += 2\n"
      "  return x[None, ..., -1]\n");
  EXPECT_EQ(count(g, "aten::copy_"), 1) << g;
  EXPECT_EQ(count(g, "aten::index_put_"), 1) << g;
  EXPECT_EQ(count(g, "aten::add_"), 1) << g;
  EXPECT_EQ(count(g, "aten::unsqueeze"), 1) << g;
  EXPECT_EQ(count(g, "aten::select"), 2) << g;
  EXPECT_EQ(count(g, "aten::slice"), 2) << g;
}

TEST(JitLanguage, SizesAndListsOfIndices) {
  const auto unit = compile(
      "def f(x: Tensor, at: List[Tensor], v: Tensor):\n"
      "  return torch.index_put(x, at, v).view(torch.Size([3, 2]))\n");
  const IValue at(std::vector<Tensor>{tensor({0, 1}), tensor({2, 0})});
  const Tensor y = unit->run_method("f", {zeros({2, 3}), at, tensor({5.f, 7.f})}).toTensor();
  EXPECT_TRUE(equal(y, tensor({0.f, 0.f, 5.f, 7.f, 0.f, 0.f}).view({3, 2})));
  unit->get_function("f").graph()->lint();
}

TEST(JitLanguage, TensorsAndNumbers) {
  const auto unit = compile(
      "def f(x: Tensor, n: int) -> Tuple[Tensor, Tensor, float, int, List[float]]:\n"
      "  a = 2 - x\n"
      "  b = 1 / x + (3 > x)\n"
      "  c: List[float] = x.tolist()\n"
      "  if x.sum() > 5:\n"
      "    n += int(x[0])\n"
      "  return a, b, float(x.sum()), n, c\n");
  const IValue out = unit->run_method("f", {tensor({2.0, 4.0}), 3});
  EXPECT_EQ(printed(out.toTuple()->items[2]), "6");
  EXPECT_EQ(out.toTuple()->items[3].toInt(), 5);
  EXPECT_EQ(printed(out.toTuple()->items[4]), "[2, 4]");
  EXPECT_EQ(out.toTuple()->items[0].toTensor()[1].item().toDouble(), -2.0);
  EXPECT_EQ(out.toTuple()->items[1].toTensor()[0].item().toDouble(), 1.5);
}

TEST(JitLanguage, ForkedFunctions) {
  const auto unit = compile(
      "def g(x: Tensor, k: int = 2) -> Tensor:\n"
      "  return x * k\n"
      "def f(x: Tensor):\n"
      "  futures = [torch.jit.fork(g, x, k) for k in range(4)]\n"
      "  other = torch.jit.fork(g, x)\n"
      "  total = torch.jit.wait(other)\n"
      "  for t in futures:\n"
      "    total = total + torch.jit.wait(t)\n"
      "  return total\n");
  EXPECT_EQ(unit->run_method("f", {tensor({1.0})}).toTensor().item().toDouble(), 8.0);
}

TEST(JitLanguage, FourierTransforms) {
  const auto unit = compile(
      "def f(x: Tensor) -> Tensor:\n"
      "  y = torch.stft(x, 4, 2, 4, torch.ones(4), True, 'reflect', False, True, True)\n"
      "  z = torch.istft(y, 4, 2, 4, torch.ones(4))\n"
      "  return z + torch.fft.irfft(torch.fft.rfft(x, norm='ortho'), n=8, norm='ortho')\n");
  const Tensor x = tenon::arange(8, kDouble).to(kFloat);
  EXPECT_TRUE(allclose(unit->run_method("f", {x}).toTensor(), 2 * x, 1e-5, 1e-5));
}

// Sequences of one length: the packed form gives what the batch gives.
TEST(JitLanguage, PackedSequences) {
  const auto unit = compile(
      "def f(x: Tensor, w: List[Tensor]) -> Tuple[Tensor, Tensor, Tensor, Tensor]:\n"
      "  h = torch.zeros(1, x.size(1), 4)\n"
      "  n = torch.full([x.size(1)], x.size(0), dtype=torch.int64)\n"
      "  data, sizes = torch._pack_padded_sequence(x, n, False)\n"
      "  a, b, c = torch.lstm(data, sizes, [h, h], w, False, 1, 0.0, False, False)\n"
      "  p, q = torch._pad_packed_sequence(a, sizes, False, 0.0, -1)\n"
      "  d, e, g = torch.lstm(x, [h, h], w, False, 1, 0.0, False, False, False)\n"
      "  return p, d, c, g\n"
      "def lengths(x: Tensor) -> Tuple[List[int], List[int]]:\n"
      "  data, sizes = torch._pack_padded_sequence(x, torch.tensor([3, 1]), False)\n"
      "  y, n = torch._pad_packed_sequence(data, sizes, True, 7.0, 4)\n"
      "  a: List[int] = sizes.tolist()\n"
      "  b: List[int] = y.to(torch.int64).reshape(-1).tolist()\n"
      "  return a, b\n");
  const std::vector<Tensor> weights = {randn({16, 3}), randn({16, 4})};
  const auto out = unit->run_method("f", {randn({5, 2, 3}), weights}).toTuple();
  EXPECT_TRUE(allclose(out->items[0].toTensor(), out->items[1].toTensor(), 1e-5, 1e-6));
  EXPECT_TRUE(allclose(out->items[2].toTensor(), out->items[3].toTensor(), 1e-5, 1e-6));
  const IValue two = unit->run_method("lengths", {arange(6).view({3, 2})});
  EXPECT_EQ(printed(two), "([2, 1, 1], [0, 2, 4, 7, 1, 7, 7, 7])");
}

TEST(JitLanguage, ListsOfTensors) {
  const auto unit = compile(
      "def floats(x: Tensor) -> List[List[float]]:\n"
      "  return x.tolist()\n"
      "def integers(x: Tensor) -> List[int]:\n"
      "  return x.tolist()\n"
      "def complexes(x: Tensor) -> List[complex]:\n"
      "  return x.tolist()\n");
  EXPECT_EQ(printed(unit->run_method("floats", {tensor({0.5f, 2.0f}).view({1, 2})})), "[[0.5, 2]]");
  EXPECT_EQ(printed(unit->run_method("complexes", {tensor({1.5, 2.0}).to(kComplexFloat)})),
            "[1.5+0j, 2+0j]");
  for (const Tensor& other : {tensor({1.5f}), arange(2).to(kInt), arange(2).gt(0)}) {
    try {
      (void)unit->run_method("integers", {other});
      ADD_FAILURE() << toString(other.scalar_type());
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("element type must match"), std::string::npos)
          << e.what();
    }
  }
}

TEST(JitLanguage, TensorsOfEmptyLists) {
  const auto unit = compile(
      "def f() -> Tuple[Tensor, Tensor, Tensor, Tensor]:\n"
      "  n: List[int] = []\n"
      "  b: List[bool] = []\n"
      "  x: List[float] = []\n"
      "  return torch.tensor(n), torch.as_tensor([n, n]), torch.tensor(b), torch.tensor(x)\n");
  const auto out = unit->run_method("f", {}).toTuple();
  const ScalarType types[] = {kLong, kLong, kBool, kFloat};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(out->items[i].toTensor().scalar_type(), types[i]) << i;
  EXPECT_EQ(out->items[1].toTensor().sizes(), IntArrayRef({2, 0}));
}

TEST(JitLanguage, TensorsAreHashedByIdentity) {
  const auto unit = compile(
      "def f(x: Tensor, y: Tensor) -> Tuple[bool, bool]:\n"
      "  return hash(x) == hash(x), hash(x) == hash(y)\n");
  EXPECT_EQ(printed(unit->run_method("f", {ones({2}), ones({2})})), "(True, False)");
}

TEST(JitLanguage, FormatsThatDoNotFit) {
  const auto unit = compile(
      "def f(s: str, kind: int) -> str:\n"
      "  if kind == 0:\n"
      "    return \"%c\" % s\n"
      "  if kind == 1:\n"
      "    return \"%d\" % s\n"
      "  if kind == 2:\n"
      "    return \"%a\" % s\n"
      "  return \"%s %\" % s\n");
  const char* const words[] = {"%c requires an int or char", "%d requires a number",
                               "The specifier %a is not supported", "Incomplete format specifier"};
  for (int kind = 0; kind < 4; ++kind) {
    try {
      ADD_FAILURE() << printed(unit->run_method("f", {"foo", kind}));
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(words[kind]), std::string::npos) << e.what();
    }
  }
}

// As in torch, where floating-point numbers follow IEEE 754 and integers do not.
TEST(JitLanguage, DivisionsByZero) {
  const auto unit = compile(
      "def quotients(a: float, n: int, zero: float, none: int):\n"
      "  return a / zero, -n / none, a // zero, n // zero, a / none, 1.0 / 0.0\n"
      "def rests(a: float, zero: float, none: int):\n"
      "  return (a / zero) - (a / zero), a % zero, a % none, zero / none\n"
      "def whole(n: int, none: int) -> int:\n"
      "  return n // none\n"
      "def power(a: float, n: int) -> float:\n"
      "  return a ** n\n");
  EXPECT_EQ(printed(unit->run_method("quotients", {1.5, 3, 0.0, 0})),
            "(inf, -inf, inf, inf, inf, inf)");
  const auto rests = unit->run_method("rests", {1.5, 0.0, 0}).toTuple();
  for (const IValue& v : rests->items) {
    EXPECT_TRUE(std::isnan(v.toDouble())) << printed(v);
  }
  EXPECT_THROW((void)unit->run_method("whole", {3, 0}), Error);
  EXPECT_EQ(unit->run_method("power", {2.0, -1}).toDouble(), 0.5);
  EXPECT_THROW((void)unit->run_method("power", {0.0, -1}), Error);
}

TEST(JitLanguage, GradientsOfInnerTensorsAreRetained) {
  const auto unit = compile(
      "def f(x: Tensor) -> Tuple[bool, bool, Optional[Tensor]]:\n"
      "  y = x * 2\n"
      "  before = y.retains_grad\n"
      "  y.retain_grad()\n"
      "  (y * 3).sum().backward()\n"
      "  return before, y.retains_grad, y.grad\n");
  const auto out = unit->run_method("f", {ones({2}).requires_grad_()}).toTuple();
  EXPECT_EQ(printed(out->items[0]) + printed(out->items[1]), "FalseTrue");
  EXPECT_TRUE(equal(out->items[2].toTensor(), full({2}, 3.0)));
}

TEST(JitLanguage, OperatorsOfPrims) {
  const auto unit = compile(
      "def f(x: Tensor, d: Device) -> Tuple[List[int], List[int], List[int], Tensor, Tensor]:\n"
      "  a = torch.ops.prims.iota(4, start=1, step=2, dtype=torch.int64, device=d, "
      "requires_grad=False)\n"
      "  n: List[int] = a.tolist()\n"
      "  b = torch.ops.prims.split_dim(torch.ops.prims.view_of(x), 1, 2)\n"
      "  c = torch.ops.prims.broadcast_in_dim(x, [2, 5, 4], [0, 2])\n"
      "  y, slopes = torch.rrelu_with_noise_functional(-x, x, 0.25, 0.75, False)\n"
      "  return n, b.size(), c.size(), y, slopes\n");
  const auto out = unit->run_method("f", {ones({2, 4}), Device("cpu")}).toTuple();
  EXPECT_EQ(printed(out->items[0]), "[1, 3, 5, 7]");
  EXPECT_EQ(printed(out->items[1]), "[2, 2, 2]");
  EXPECT_EQ(printed(out->items[2]), "[2, 5, 4]");
  EXPECT_TRUE(equal(out->items[3].toTensor(), full({2, 4}, -0.5)));
  EXPECT_TRUE(equal(out->items[4].toTensor(), ones({2, 4})));
}

TEST(JitLanguage, ListsInPlaceOfLettersAndTensors) {
  const auto unit = compile(
      "def f(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:\n"
      "  return torch.einsum(x, [0, 1], y, [1, 27], [27, 0]), torch.einsum(x, [3, 3])\n"
      "def g(x: Tensor):\n"
      "  weights: List[Optional[Tensor]] = [torch.ones([2]), None]\n"
      "  torch.autograd.backward([x * 3, x.sum()], weights)\n");
  const Tensor x = randn({2, 2}), y = randn({2, 3});
  const auto out = unit->run_method("f", {x, y}).toTuple();
  EXPECT_TRUE(allclose(out->items[0].toTensor(), mm(x, y).t()));
  EXPECT_TRUE(allclose(out->items[1].toTensor(), x.trace()));
  const Tensor leaf = ones({2}).requires_grad_();
  (void)unit->run_method("g", {leaf});
  EXPECT_TRUE(equal(leaf.grad(), full({2}, 4.0)));
}

TEST(JitLanguage, RaisedExceptions) {
  const auto unit = compile(
      "def f(n: int):\n"
      "  if n > 1:\n"
      "    raise ValueError(\"{} is too much\".format(n))\n"
      "  assert n != 0, \"zero\"\n"
      "  return n\n");
  EXPECT_EQ(unit->run_method("f", {1}).toInt(), 1);
  for (const auto& [n, text] : {std::pair{2, "2 is too much"}, std::pair{0, "zero"}}) {
    try {
      (void)unit->run_method("f", {n});
      ADD_FAILURE() << "nothing was raised for " << n;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
    }
  }
}

TEST(JitLanguage, MethodsOfModules) {
  Module m("__torch__.M");
  m.register_parameter("w", tensor({1.0, 2.0}));
  m.register_attribute("calls", Type::integer(), 0);
  m.define(
      "def scaled(self, x, k: float = 2.0):\n"
      "  self.calls += 1\n"
      "  return x * self.w * k\n"
      "def forward(self, x):\n"
      "  return self.scaled(x) + self.scaled(x, k=3.0)\n");
  EXPECT_EQ(m.forward({tensor({1.0, 1.0})}).toTensor()[1].item().toDouble(), 10.0);
  EXPECT_EQ(m.attr("calls").toInt(), 2);
}

TEST(JitLanguage, FunctionsOfTorchNN) {
  const auto unit = compile(
      "import torch.nn.functional as F\n"
      "def f(x: Tensor):\n"
      "  y = F.relu(x) + torch.nn.functional.leaky_relu(x, 0.5)\n"
      "  z = F.max_pool1d(y.view(1, 1, -1), 2)\n"
      "  return F.mse_loss(z, torch.zeros_like(z), reduction=\"sum\") + F.softmax(x, "
      "dim=0).sum()\n");
  EXPECT_EQ(unit->run_method("f", {tensor({-2.0, 1.0, 3.0, 0.0})}).toTensor().item().toDouble(),
            2.0 * 2.0 + 6.0 * 6.0 + 1.0);
}

TEST(JitLanguage, FunctionsOfTorchSpecial) {
  const auto unit = compile(
      "def f(x: Tensor):\n"
      "  return (torch.special.log_ndtr(x), torch.special.zeta(2, x), torch.special.bessel_j0(x),\n"
      "          torch.special.hermite_polynomial_h(x, n=3), torch.special.expit(x - 1))\n");
  const IValue out = unit->run_method("f", {tensor({1.0}, TensorOptions(kDouble))});
  const double expected[] = {-0.17275377902344989, 1.6449340668482264, 0.76519768655796655, -4,
                             0.5};
  for (std::size_t i = 0; i < 5; ++i) {
    const double y = out.toTuple()->items[i].toTensor().item<double>();
    EXPECT_NEAR(y, expected[i], 1e-14) << i;
  }
}

// As in torch, where it is a constant of the graph: each call goes on where the one before ended.
TEST(JitLanguage, AGeneratorIsMadeOnce) {
  const char* text =
      "def f(x: Tensor, again: bool):\n"
      "  g = torch.Generator(device=\"cpu\", seed=3)\n"
      "  if again:\n"
      "    g.manual_seed(3)\n"
      "  return torch.cat([torch.rand([4], generator=g), torch.rand([4], generator=g)])\n";
  const auto unit = compile(text), other = compile(text);
  const auto draw = [](const auto& of, bool again) {
    return of->run_method("f", {ones({1}), again}).toTensor();
  };
  const Tensor first = draw(unit, false), second = draw(unit, false);
  EXPECT_FALSE(first.equal(second));
  EXPECT_FALSE(first.slice(0, 0, 4).equal(first.slice(0, 4)));
  EXPECT_TRUE(draw(other, false).equal(first));
  EXPECT_TRUE(draw(unit, true).equal(first));
}

}  // namespace
}  // namespace tenon::jit
