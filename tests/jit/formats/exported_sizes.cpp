// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Programs that are exported for more than the sizes of their examples, and branches by data, run
// at other sizes than they were made with. `./dev program-export` has torch run such files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "jit/formats/exported/writer/size_expressions.h"
#include "tenon/jit.h"
#include "tenon/jit/export_program.h"
#include "tenon/jit/trace.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"
#include "tests/support.h"

namespace tenon::jit {
namespace {

using formats::SizeExpressions;

constexpr int64_t kAny = INT64_MAX;
const std::string s0 = "Symbol('s0', positive=True, integer=True)",
                  s1 = "Symbol('s1', positive=True, integer=True)";

SizeExpressions::Values apply(const SizeExpressions::Values& a, const SizeExpressions::Values& b,
                              int64_t (*f)(int64_t, int64_t)) {
  SizeExpressions::Values made;
  for (std::size_t r = 0; r < a.size(); ++r) made.push_back(f(a[r], b[r]));
  return made;
}

TEST(SizeExpressions, AreFoundFromTheValuesInSeveralRuns) {
  SizeExpressions sizes;
  const auto a = sizes.add_symbol("batch", 4, {0, kAny}), b = sizes.add_symbol("time", 4, {1, 90});
  EXPECT_EQ(a.size(), SizeExpressions::kRuns);
  EXPECT_NE(a, b);  // though the examples are equal
  EXPECT_EQ(sizes.text_of(a), s0);
  EXPECT_EQ(sizes.text_of(b), s1);
  const auto text = [&](int64_t (*f)(int64_t, int64_t)) { return sizes.text_of(apply(a, b, f)); };
  EXPECT_EQ(text([](int64_t, int64_t) -> int64_t { return 7; }), "Integer(7)");
  EXPECT_EQ(text([](int64_t x, int64_t) { return 3 * x - 2; }),
            "Add(Mul(Integer(3), " + s0 + "), Integer(-2))");
  EXPECT_EQ(text([](int64_t x, int64_t y) { return 2 * x * y; }),
            "Mul(Integer(2), Mul(" + s0 + ", " + s1 + "))");
  EXPECT_EQ(text([](int64_t x, int64_t y) { return x + y + 1; }),
            "Add(Add(" + s0 + ", " + s1 + "), Integer(1))");
  EXPECT_EQ(text([](int64_t, int64_t y) { return (y - 3) / 2 + 1; }),
            "FloorDiv(Add(" + s1 + ", Integer(-1)), Integer(2))");
  EXPECT_EQ(text([](int64_t x, int64_t y) { return x * x * x + y * y; }),
            "Symbol('u0', integer=True)");
  const auto ranges = sizes.ranges();
  EXPECT_EQ(ranges["s0"]["max_val"], nullptr);
  EXPECT_EQ(ranges["s1"]["min_val"], 1);
  EXPECT_EQ(ranges["s1"]["max_val"], 90);
}

TEST(SizeExpressions, StayInTheirRanges) {
  SizeExpressions sizes;
  for (const int64_t v : sizes.add_symbol("few", 3, {2, 4})) EXPECT_TRUE(2 <= v && v <= 4);
  const auto error = [&](const std::string& name, int64_t example, SizeExpressions::Range range) {
    return test::text_of([&] { (void)sizes.add_symbol(name, example, range); });
  };
  test::expect_words(error("few", 5, {2, 4}), {"'few' is 3 in one example and 5 in another"});
  test::expect_words(error("one", 4, {4, 4}), {"'one'", "4 to 4", "does not vary"});
  test::expect_words(error("out", 9, {1, 4}), {"'out' is from 1 to 4, but the example has 9"});
}

class ExportSizes : public testing::Test {
 protected:
  // Tests run at once, each in a process of its own.
  std::string path_ = core::join(testing::TempDir(), "/tenon_sizes_", getpid(), ".pt2");
  void TearDown() override { std::filesystem::remove(path_); }

  static Module define(const std::string& text) {
    Module m("__torch__.Program");
    m.define(text);
    return m;
  }
  Module again(const Module& m, const std::vector<IValue>& inputs,
               const ExportProgramOptions& options) {
    export_program(m, inputs, path_, options);
    return load(path_);
  }
  static void expect_same(const Module& a, const Module& b, const std::vector<IValue>& inputs) {
    const IValue x = a.forward(inputs), y = b.forward(inputs);
    if (x.isTensor()) return expect_near(x, y);
    ASSERT_EQ(x.toTupleRef().items.size(), y.toTupleRef().items.size());
    for (std::size_t i = 0; i < x.toTupleRef().items.size(); ++i)
      expect_near(x.toTupleRef().items[i], y.toTupleRef().items[i]);
  }
  static void expect_near(const IValue& x, const IValue& y) {
    if (!x.isTensor()) {
      EXPECT_TRUE(x == y);
      return;
    }
    const Tensor a = x.toTensor(), b = y.toTensor();
    ASSERT_EQ(a.sizes(), b.sizes());
    EXPECT_TRUE(allclose(a, b, 1e-5, 1e-6)) << a << b;
  }
};

TEST_F(ExportSizes, NumbersAreComputedFromTheSizesOfTheInputs) {
  const Module m = define(R"(
def forward(self, x: Tensor, pair: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tensor, Tensor, int, Tensor, Tensor]:
    b, t, c = x.size()
    y = x.reshape(b * t, c)
    z = torch.zeros([t // 2, b + 1]) + x.numel() / (b ** 0.5)
    both = torch.cat([pair[0], pair[1]], 0)
    shape = x.shape[:-1] + [2, c // 2]
    chosen = torch.masked_select(both, both > 0)
    n = min(t, 5) * 2 - b % 3
    return y, z, both.expand(b, -1, -1), n, x.view(shape), chosen
)");
  const auto inputs = [](int64_t b, int64_t t, int64_t n) {
    return std::vector<IValue>{randn({b, t, 4}),
                               IValue(std::tuple<Tensor, Tensor>(randn({n, 2}), randn({3, 2})))};
  };
  const Module back = again(
      m, inputs(3, 8, 2),
      {{{"x", {{0, "batch"}, {-2, "time"}}}, {"pair[0]", {{0, "rows"}}}}, {{"batch", {1, 9}}}});
  expect_same(m, back, inputs(3, 8, 2));
  expect_same(m, back, inputs(1, 3, 7));
  expect_same(m, back, inputs(9, 30, 1));
  EXPECT_THROW((void)back.forward(inputs(10, 8, 2)), ValueError);
}

// As models of ONNX compute positions and masks.
// As traces have `n *= k`, and what is the same for all sizes until a size is written to it.
TEST_F(ExportSizes, NumbersAndTensorsThatSizesAreWrittenTo) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    n = torch.tensor(x.size(1))
    n = n.mul_(torch.tensor(x.size(2)))
    n = n.mul_(torch.tensor(x.size(0))).sub_(1).add_(torch.tensor(1))
    sums = torch.zeros([3])
    last = sums[1:]
    sums.add_(x.size(0))
    last.mul_(2)
    return x.reshape([int(n), -1]), x * n, sums + last.sum()
)");
  const Module back = again(m, {ones({2, 7, 3, 4})}, {{{"x", {{0, "batch"}}}}, {}});
  for (const int64_t n : {1, 2, 5}) expect_same(m, back, {randn({n, 7, 3, 4})});
}

TEST_F(ExportSizes, ListsAreBroadcastAndPutIntoTensors) {
  const Module m = define(R"(
def forward(self, x: Tensor, past: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
    b, t = x.size()
    shape = torch.broadcast_shapes([b, 1, t], [past.size(0), 1])
    at = torch.tensor([past.size(0), 3, t * 2])
    scale = torch.tensor([b / 2, 0.5])
    return x[:, None].expand(shape), at.unsqueeze(0) + x[:, :1].long(), scale * x[:, :1]
)");
  const auto inputs = [](int64_t b, int64_t t, int64_t past) {
    return std::vector<IValue>{randn({b, t}), randn({past, 2})};
  };
  const Module back = again(m, inputs(2, 3, 4),
                            {{{"x", {{0, "batch"}, {1, "time"}}}, {"past", {{0, "past"}}}}, {}});
  expect_same(m, back, inputs(2, 3, 4));
  expect_same(m, back, inputs(5, 7, 3));
}

// A recorded program computes with sizes as tensors; its windows have sizes of their own.
TEST_F(ExportSizes, ARecordedNetworkTakesImagesOfAnySize) {
  manual_seed(4);
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(2, 3, 3).stride(2)), nn::BatchNorm2d(3),
                     nn::ReLU(), nn::MaxPool2d(2), nn::AdaptiveAvgPool2d(2), nn::Flatten(),
                     nn::Linear(12, 4));
  net->eval();
  const Tensor x = randn({2, 2, 12, 14});
  const Module traced = trace(net, {x});
  const std::string name = traced.get_method("forward").function().schema().arguments[1].name;
  Module back = again(traced, {x}, {{{name, {{0, "n"}, {2, "h"}, {3, "w"}}}}, {}});
  for (const auto& sizes : {std::vector<int64_t>{2, 2, 12, 14}, {1, 2, 31, 9}, {5, 2, 8, 8}}) {
    const Tensor y = randn(sizes);
    expect_near(back.forward({y}), net->forward(y));
  }
  // And it is one that is exported again, and trained.
  const Module twice = again(back, {x}, {{{name, {{0, "n"}}}}, {}});
  expect_near(twice.forward({randn({1, 2, 12, 14}).fill_(0.5)}),
              net->forward(randn({1, 2, 12, 14}).fill_(0.5)));
  back.forward({x}).toTensor().sum().backward();
  EXPECT_TRUE(back.named_parameters().begin()->value.grad().defined());
}

TEST_F(ExportSizes, ConditionsOnSizesAreChecked) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    if x.size(0) < 3:
        x = x + 1
    if x.size(1) == x.size(1) and x.dim() == 2:
        x = x * 2
    return x
)");
  const Module back = again(m, {randn({6, 2})}, {{{"x", {{0, "rows"}, {1, "columns"}}}}, {}});
  expect_same(m, back, {randn({3, 9})});
  const std::string message = test::text_of([&] { (void)back.forward({randn({2, 2})}); });
  test::expect_words(message, {"exported for sizes where Not(StrictLessThan(rows, 3)) holds"});
}

TEST_F(ExportSizes, WhatDoesNotFitIsTold) {
  const auto refusal = [&](const std::string& body, const ExportProgramOptions& options) {
    const Module m = define("def forward(self, x: Tensor) -> Tensor:\n" + body);
    return test::text_of([&] { export_program(m, {ones({4, 3})}, path_, options); });
  };
  const ExportProgramOptions rows{{{"x", {{0, "rows"}}}}, {}};
  test::expect_words(refusal("    return x\n", {{{"y", {{0, "rows"}}}}, {}}),
                     {"no input has the dynamic axis 'y:0'; the inputs are [\"x\"]"});
  test::expect_words(refusal("    return x\n", {{{"x", {{2, "rows"}}}}, {}}),
                     {"'x' has 2 dimensions, so it has no axis 2"});
  test::expect_words(refusal("    return x.view([4, 3])\n", rows),
                     {"the program fails where rows is 5", "range", "<--- HERE"});
  test::expect_words(
      refusal("    if x.size(0) > 5:\n        x = x + 1\n    return x\n", rows),
      {"cannot write prim::If: a branch by sizes that vary", "another way where rows is 6"});
  test::expect_words(
      refusal("    y = [x]\n    for i in range(x.size(0)):\n        y.append(x + i)\n"
              "    return torch.cat(y)\n",
              rows),
      {"cannot write prim::Loop", "appends tensors whose sizes vary to a list"});
  test::expect_words(refusal("    return torch.stack(torch.unbind(x, 0))\n", rows),
                     {"the number of its results depends on a size that varies"});
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// Where a program says that lengths are sorted, those of other sizes are, too.
TEST_F(ExportSizes, LengthsStayInOrder) {
  const Module m = define(R"(
def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
    data, sizes = torch._pack_padded_sequence(x, lengths, True)
    return torch._pad_packed_sequence(data * 2, sizes, True, 0.5, 0)[0]
)");
  const Module back = again(m, {ones({3, 4, 5}), tensor({4, 3, 1})},
                            {{{"x", {{0, "b"}}}, {"lengths", {{0, "b"}}}}, {}});
  expect_same(m, back, {rand({2, 4, 5}), tensor({3, 2})});
  expect_same(m, back, {rand({5, 4, 5}), tensor({4, 4, 2, 1, 1})});
}

TEST_F(ExportSizes, BranchesByDataAreGraphsOfTheFile) {
  const Module m = define(R"(
def forward(self, x: Tensor, w: Tensor) -> Tuple[Tensor, Tensor]:
    n = x.size(0)
    if bool(x.sum() > 0):
        y = x.mm(w) + n
        z = x
    else:
        if bool(w.sum() > 0):
            y = x * 2 + torch.tensor([1.0, 2.0])
        else:
            y = x.t().t()
        z = torch.zeros([n, 2])
    if bool(x.max() > 100):
        raise ValueError("too large")
    return y + 1, z
)");
  for (const auto& axes : {ExportProgramOptions{}, ExportProgramOptions{{{"x", {{0, "n"}}}}, {}}}) {
    const Module back = again(m, {ones({3, 2}), ones({2, 2})}, axes);
    for (const double x : {1.0, -1.0})
      for (const double w : {1.0, -1.0}) expect_same(m, back, {full({3, 2}, x), full({2, 2}, w)});
    if (!axes.dynamic_axes.empty()) expect_same(m, back, {full({5, 2}, -1.0), ones({2, 2})});
  }
  // Conditions of conditions, and numbers that a branch decides.
  const Module both = define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, int]:
    n = 2
    scale = 0.5
    if bool(x.sum() > 0) and not bool(x.max() > 5):
        n = x.size(0)
        scale = 3.0
    done = False
    while not done:
        x = x + 1
        done = bool(x.sum() > 20)
    return x * scale + torch.ones([n]).sum(), n
)");
  const Module back = again(both, {ones({3})}, {{{"x", {{0, "n"}}}}, {}});
  for (const double x : {1.0, -1.0, 9.0}) {
    const auto a = both.forward({full({4}, x)}).toTupleRef().items,
               b = back.forward({full({4}, x)}).toTupleRef().items;
    expect_near(a[0], b[0]);
    EXPECT_EQ(a[1].toInt(), b[1].toInt());
  }
  const auto refusal = [&](const std::string& side) {
    const Module other =
        define("def forward(self, x: Tensor) -> Tensor:\n    y = x\n    if bool(x.sum() > 0):\n" +
               side + "    return y\n");
    return test::text_of([&] { export_program(other, {ones({2})}, path_); });
  };
  // Sides of other sizes: the example's is taken, and it is checked that the data decide so.
  EXPECT_EQ(refusal("        y = x.unsqueeze(0)\n"), "");
  const Module checked = load(path_);
  EXPECT_EQ(checked.forward({ones({2})}).toTensor().sizes(), IntArrayRef({1, 2}));
  test::expect_words(test::text_of([&] { (void)checked.forward({-ones({2})}); }),
                     {"exported for data that decide as the example's do"});
  test::expect_words(refusal("        y.add_(1)\n"), {"writes to a tensor or a list"});
  const Module truth =
      define("def forward(self, x: Tensor) -> bool:\n    return bool(x.sum() > 0)\n");
  test::expect_words(test::text_of([&] { export_program(truth, {ones({2})}, path_); }),
                     {"a result that is a bool by data"});
}

// Numbers are carried in tensors.
TEST_F(ExportSizes, LoopsByDataAndByVaryingSizes) {
  const Module m = define(R"(
def forward(self, x: Tensor, h: Tensor) -> Tuple[Tensor, Tensor, int, float]:
    last = 0
    scale = 1.0
    for i in range(x.size(0)):
        h = torch.tanh(x[i] + h * scale)
        last = last * 2 + i
        scale = scale * 0.5
    n = 0
    while bool(h.sum() < 100):
        h = h * 2 + 1
        n = n + 1
        if bool(h.max() > 10):
            h = h + n
        else:
            h = h + 1
    return h, torch.zeros([n, 2]), last, scale
)");
  const Module back = again(m, {randn({3, 4}), randn({4})}, {{{"x", {{0, "steps"}}}}, {}});
  for (const int64_t steps : {1, 3, 9}) {
    const std::vector<IValue> inputs = {randn({steps, 4}), randn({4})};
    const auto a = m.forward(inputs).toTupleRef().items,
               b = back.forward(inputs).toTupleRef().items;
    expect_near(a[0], b[0]);
    expect_near(a[1], b[1]);
    EXPECT_EQ(a[2].toInt(), b[2].toInt());
    EXPECT_EQ(a[3].toDouble(), b[3].toDouble());
  }
  // Sizes that a carried number decides are asked each time.
  const Module asked = define(R"(
def forward(self, x: Tensor) -> Tuple[Tensor, int]:
    total = 0
    for i in range(x.size(0)):
        total = total + x[:i + 1].size(0)
    return x, torch.zeros([total, 2]).size(0)
)");
  const Module asks = again(asked, {ones({3})}, {{{"x", {{0, "n"}}}}, {}});
  EXPECT_EQ(asks.forward({ones({5})}).toTupleRef().items[1].toInt(), 15);
  const Module grows = define(
      "def forward(self, x: Tensor) -> Tensor:\n    while bool(x.sum() < 9):\n"
      "        x = torch.cat([x, x])\n    return x\n");
  test::expect_words(test::text_of([&] { export_program(grows, {ones({2})}, path_); }),
                     {"cannot write prim::Loop: a float32 tensor of the sizes [4] stands for"});
}

TEST_F(ExportSizes, StridesAreAsked) {
  const Module m = define(R"(
def forward(self, x: Tensor):
    first, second = x.stride(0), x.stride()
    part = torch.as_strided(x, [2, 2], [first, second[1]])
    return part * second[0], torch.zeros([x.stride(-2)]), x.t().stride(0)
)");
  const Module back = again(m, {randn({3, 4})}, {{{"x", {{1, "n"}}}}, {}});
  for (const int64_t n : {3, 4, 9}) {
    const Tensor x = randn({3, n});
    const auto a = m.forward({x}).toTupleRef().items, b = back.forward({x}).toTupleRef().items;
    expect_near(a[0], b[0]);
    expect_near(a[1], b[1]);
    EXPECT_EQ(a[2].toInt(), b[2].toInt());
  }
}

// Traces hold sizes in tensors: what no rule for numbers computes is an operator of tensors.
TEST_F(ExportSizes, FunctionsOfSizesInTensors) {
  const Module m = define(R"(
def forward(self, x: Tensor) -> Tensor:
    rows = torch.mul(torch.tensor(x.size(0)), torch.tensor(2))
    return x - torch.neg(torch.log(rows)).expand([3]) + torch.sqrt(rows)
)");
  const Module back = again(m, {randn({2, 3})}, {{{"x", {{0, "n"}}}}, {}});
  for (const int64_t n : {2, 5}) {
    const Tensor x = randn({n, 3});
    expect_near(back.forward({x}), m.forward({x}));
  }
}

}  // namespace
}  // namespace tenon::jit
