// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators whose models are run with other values and sizes than those that they were written
// with.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "tenon/creation.h"
#include "tenon/jit/type.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"
#include "tests/support.h"

using namespace tenon;

namespace {

using Inputs = std::vector<Tensor>;
using Axes = std::map<std::string, std::map<int64_t, std::string>>;

std::vector<IValue> own(const Inputs& given) {
  std::vector<IValue> out;
  for (const Tensor& t : given) out.emplace_back(t.clone());
  return out;
}

jit::Module written(const jit::Module& m, const Inputs& example, const Axes& axes) {
  onnx::ExportOptions options;
  options.opset = 18;
  options.dynamic_axes = axes;
  std::ostringstream out;
  onnx::export_(m, own(example), out, options);
  return onnx::load_bytes(out.str());
}

// The model gives what the program gives, for the example and for the others.
void expect_model(const jit::Module& m, const std::vector<Inputs>& runs, const Axes& axes = {}) {
  jit::Module model;
  ASSERT_NO_THROW(model = written(m, runs.at(0), axes));
  for (const Inputs& given : runs) {
    const Tensor got = model.forward(own(given)).toTensor(),
                 expected = m.forward(own(given)).toTensor();
    ASSERT_EQ(got.sizes(), expected.sizes());
    EXPECT_EQ(got.scalar_type(), expected.scalar_type());
    EXPECT_TRUE(got.to(kDouble).allclose(expected.to(kDouble), 1e-5, 1e-5, true))
        << got << expected;
  }
}

void expect_model(const std::string& text, const std::vector<Inputs>& runs, const Axes& axes = {}) {
  SCOPED_TRACE(text);
  expect_model(define("def forward(self, " + text), runs, axes);
}

const Axes kRows{{"x", {{0, "n"}}}};

// The caller's tensors stay as they are, as the model's inputs do.
TEST(OnnxExportOperators, AnArgumentMayBeWritten) {
  manual_seed(41);
  for (const char* body : {"x: Tensor) -> Tensor:\n    return x.add_(12)\n",
                           "x: Tensor) -> Tensor:\n    x[0].add_(1)\n    return x\n",
                           "x: Tensor) -> Tensor:\n"
                           "    t = x.transpose(0, 1)\n"
                           "    x[:, 1:].mul_(3)\n"
                           "    t[0].copy_(x[:, 2])\n"
                           "    return x + t.sum()\n"}) {
    expect_model(body, {{randn({2, 3})}, {randn({5, 3})}}, kRows);
    const Tensor x = randn({2, 3}), before = x.clone();
    std::ostringstream out;
    onnx::export_(define("def forward(self, " + std::string(body)), {x}, out, {});
    EXPECT_TRUE(x.equal(before));
  }
  expect_model(
      "x: Tensor, at: Tensor, y: Tensor) -> Tensor:\n"
      "    x.select(0, int(at.item())).copy_(y)\n"
      "    return x\n",
      {{randn({4, 3}), tensor({2}, kLong), randn({3})},
       {randn({4, 3}), tensor({-1}, kLong), randn({3})},
       {randn({4, 3}), tensor({0}, kLong), randn({3})}});
}

// What a loop writes is not written before it.
TEST(OnnxExportOperators, ALoopWritesOnce) {
  expect_model(
      "x: Tensor) -> Tensor:\n"
      "    count = torch.zeros([3])\n"
      "    parts = torch.split(x, [1, 2, 3], 0)\n"
      "    out: List[Tensor] = []\n"
      "    for i in range(len(parts)):\n"
      "        out.append(parts[-1 - i].sum(0))\n"
      "        count.add_(1)\n"
      "    return torch.stack(out) * count\n",
      {{randn({6})}, {randn({6})}});
}

// Where the turns are counted, they are written one after the other.
TEST(OnnxExportOperators, TurnsMayWriteToMemoryOfOutside) {
  manual_seed(53);
  const std::vector<Inputs> runs{{randn({3, 2})}, {randn({3, 2})}};
  for (const char* body : {"    out = torch.zeros_like(x)\n"
                           "    for i in range(3):\n"
                           "        out[i].copy_(x[i] * (i + 1))\n"
                           "        out[:, 1].add_(out[i].sum())\n"
                           "    return out\n",
                           "    total = x[0] * 2\n"
                           "    both = total.view(1, 2)\n"
                           "    for i in range(x.size(0)):\n"
                           "        for k in range(2):\n"
                           "            total[k].mul_(x[i, 1 - k])\n"
                           "    return both + total\n",
                           "    for i in range(3):\n"
                           "        x[i:].add_(x[i])\n"
                           "    return x\n"})
    expect_model("x: Tensor) -> Tensor:\n" + std::string(body), runs);
}

TEST(OnnxExportOperators, PositionsAndMasksOfAnyDimensions) {
  manual_seed(42);
  const Tensor i = tensor({1, 0, 1}, kLong), mask = tensor({1, 0, 1}, kBool),
               more = tensor({0, 1, 0}, kBool);
  const Axes axes{{"x", {{0, "n"}, {2, "w"}}}};
  for (const char* body : {"    return x[:, i]\n", "    return x[:, mask]\n",
                           "    return x[:, mask, 1:][:, :, i]\n", "    return x[i, :, i]\n",
                           "    return x[i, mask.nonzero().sum()]\n", "    return x[:, i, i]\n"})
    expect_model("x: Tensor, i: Tensor, mask: Tensor) -> Tensor:\n" + std::string(body),
                 {{randn({2, 3, 4}), i, mask}, {randn({5, 3, 6}), i, more}}, axes);
  for (const char* body :
       {"    return x.index_put((i,), v)\n", "    return x.index_put((i,), v, True)\n",
        "    return torch.index_put(x, [None, i], v)\n",
        "    return torch.index_put(x, [None, i], v, True)\n",
        "    return torch.index_put(x, [i, None, i], v)\n",
        "    return torch.index_put(x, [None, mask], v)\n",
        "    return torch.index_put(x, [None, mask], v, True)\n",
        "    return torch.index_fill(x, 1, i, 7)\n", "    return torch.index_fill(x, -2, i, v)\n"})
    expect_model(
        "x: Tensor, i: Tensor, mask: Tensor, v: Tensor) -> Tensor:\n" + std::string(body),
        {{randn({2, 3, 4}), i, mask, full({}, 5.0)}, {randn({5, 3, 6}), i, more, full({}, -2.0)}},
        axes);
  expect_model(
      "x: Tensor, i: Tensor, v: Tensor) -> Tensor:\n    return torch.index_put(x, [None, i], v)\n",
      {{randn({2, 3, 4}), i, randn({2, 3, 4})}, {randn({5, 3, 6}), i, randn({5, 3, 6})}},
      {{"x", {{0, "n"}, {2, "w"}}}, {"v", {{0, "n"}, {2, "w"}}}});
}

TEST(OnnxExportOperators, BytesAreMasks) {
  const Tensor x = arange(12, kFloat).view({3, 4});
  expect_model("x: Tensor, mask: Tensor) -> Tensor:\n    return x[mask]\n",
               {{x, tensor({0, 1, 0}, kByte)}, {x, tensor({1, 1, 1}, kByte)}});
}

TEST(OnnxExportOperators, ASourceMayBeLargerThanItsPositions) {
  manual_seed(43);
  const auto positions = [](int64_t n) { return arange(n * 2, kLong).view({n, 2}).remainder(3); };
  expect_model(
      "x: Tensor, i: Tensor, v: Tensor) -> Tensor:\n    return torch.scatter(x, 1, i, v)\n",
      {{zeros({4, 3}), positions(2), randn({4, 3})}, {zeros({4, 3}), positions(4), randn({5, 3})}},
      {{"i", {{0, "rows"}}}, {"v", {{0, "more"}}}});
}

TEST(OnnxExportOperators, WhatIsScatteredMayBeJoined) {
  manual_seed(52);
  const Tensor i = tensor({0, 2, 0, 0}, kLong).view({2, 2});
  for (const char* how : {"'sum'", "'prod'", "'amax'", "'amin'"})
    for (const char* self : {"True", "False"})
      expect_model(
          "x: Tensor, i: Tensor, v: Tensor) -> Tensor:\n"
          "    return torch.scatter_reduce(x, 1, i, v, " +
              std::string(how) + ", include_self=" + self + ")\n",
          {{randn({4, 3}), i, randn({2, 2})},
           {randn({6, 3}), cat({i, 1 - i.clamp_max(1)}), randn({4, 2})}},
          {{"x", {{0, "n"}}}, {"i", {{0, "m"}}}, {"v", {{0, "m"}}}});
}

TEST(OnnxExportOperators, TensorsOfComputedSizes) {
  const auto number = [](double v) { return full({}, v); };
  expect_model(
      "x: Tensor, end: Tensor) -> Tensor:\n"
      "    return torch.arange(x.size(0), float(end), 1.5, dtype=torch.int64)\n",
      {{ones({2, 3}), number(8.5)}, {ones({2, 3}), number(11)}, {ones({2, 3}), number(2)}});
  expect_model(
      "x: Tensor) -> Tensor:\n    return torch.eye(x.size(0)) + torch.eye(x.size(0), x.size(0))\n",
      {{ones({2, 3})}, {ones({4, 3})}}, kRows);
  expect_model("x: Tensor) -> Tensor:\n    return torch.argmax(x, None, True)\n",
               {{tensor({1, 3, 2}, kFloat).view({3, 1})}, {arange(5, kFloat).view({5, 1})}}, kRows);
  expect_model("x: Tensor, v: Tensor) -> Tensor:\n    return torch.outer(x, v)\n",
               {{randn({2}), randn({3})}, {randn({4}), randn({3})}}, kRows);
}

TEST(OnnxExportOperators, StatisticsOfBatchesOfAnySize) {
  manual_seed(44);
  const std::vector<Inputs> runs{{randn({4, 3, 2})}, {randn({6, 3, 2})}, {randn({2, 3, 2})}};
  for (const char* body :
       {"    return torch.var(x, 0)\n", "    return torch.var_mean(x, 0)[0]\n",
        "    return torch.std_mean(x, [0, 1], unbiased=False, keepdim=True)[1]\n",
        "    return torch.std(x, [0, 2], unbiased=True)\n",
        "    return torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)\n",
        "    return torch.batch_norm(x, torch.arange(3) * 1.0, torch.ones([3]), None, None, True, "
        "0.1, 1e-5, False)\n",
        "    return torch.glu(x[:, :, 0].t(), 1)\n"})
    expect_model("x: Tensor) -> Tensor:\n" + std::string(body), runs, kRows);
}

TEST(OnnxExportOperators, AnImageWithoutABatchIsPooled) {
  const Tensor x = arange(72, kFloat).view({2, 6, 6});
  for (const char* size : {"[1, 1]", "[2, 3]", "[4, 4]"})
    expect_model("x: Tensor) -> Tensor:\n    return torch.adaptive_avg_pool2d(x, " +
                     std::string(size) + ")\n",
                 {{x}});
  expect_model("x: Tensor) -> Tensor:\n    return torch.adaptive_max_pool2d(x, [1, 1])[0]\n",
               {{x}});
}

TEST(OnnxExportOperators, AttentionSharesHeadsAndMayMaskAll) {
  manual_seed(45);
  const Axes axes{{"q", {{0, "b"}, {2, "t"}}}, {"k", {{0, "b"}, {2, "s"}}}};
  const auto inputs = [](int64_t b, int64_t t, int64_t s) {
    return Inputs{randn({b, 4, t, 8}), randn({b, 2, s, 8})};
  };
  expect_model(
      "q: Tensor, k: Tensor) -> Tensor:\n"
      "    return torch.scaled_dot_product_attention(q, k, k, enable_gqa=True)\n",
      {inputs(1, 3, 5), inputs(2, 4, 6)}, axes);
  const Tensor q = randn({1, 2, 2, 4}), keep = tensor({1, 0, 0, 0}, kBool).view({2, 2});
  const Tensor bias = full({2, 2}, -std::numeric_limits<double>::infinity());
  for (const Tensor& mask : {keep, bias})
    expect_model(
        "q: Tensor, m: Tensor) -> Tensor:\n"
        "    return torch.scaled_dot_product_attention(q, q, q, m)\n",
        {{q, mask}});
}

// What nn.MultiheadAttention and nn.TransformerEncoderLayer call in evaluation.
TEST(OnnxExportOperators, FastPathsOfTransformers) {
  manual_seed(47);
  const Axes axes{{"x", {{0, "b"}, {1, "t"}}}, {"m", {{0, "b"}, {1, "t"}}}};
  const std::string weights =
      "    w = torch.arange(192, dtype=6).view(24, 8) / 96 - 1\n"
      "    b, o, z = w[:, 0] * 2, w[:8] * 3, w[8:16, 1] + 1\n";
  const auto padded = [](int64_t b, int64_t t) {
    return Inputs{randn({b, t, 8}), arange(t).expand({b, t}).ge(t - 1)};
  };
  for (const char* call : {"None, True, True)[1]", "None, True, False)[1]", "None, False)[0]",
                           "m, True, True, 1)[0]", "x[0, :, :1] * x[0, :, 0], True, True, 0)[0]"})
    expect_model(
        "x: Tensor, m: Tensor) -> Tensor:\n" + weights +
            "    return torch._native_multi_head_attention(x, x * 2, x + 1, 8, 2, w, b, o, "
            "z, " +
            call + "\n",
        {padded(2, 3), padded(3, 5)}, axes);
  for (const char* flags : {"True, True", "False, False"})
    expect_model("x: Tensor, m: Tensor) -> Tensor:\n" + weights +
                     "    return torch._transformer_encoder_layer_fwd(x, 8, 2, w, b, o, z, " +
                     flags + ", 1e-5, z, z, z, z, w, b, w.t(), z, m, 1)\n",
                 {padded(2, 3), padded(3, 5)}, axes);
}

TEST(OnnxExportOperators, SoftplusHasAThreshold) {
  const Tensor x = tensor({-2.0, 0.5, 1.4, 1.6, 30.0});
  for (const char* call : {"x, 2, 3", "x, 1, 1.5", "x, 0.5"})
    expect_model("x: Tensor) -> Tensor:\n    return torch.softplus(" + std::string(call) + ")\n",
                 {{x}});
}

TEST(OnnxExportOperators, CrossEntropyOfLogitsOfEverySize) {
  manual_seed(49);
  const Axes axes{{"x", {{0, "n"}}}, {"t", {{0, "n"}}}};
  for (const char* more :
       {"", ", x[0].abs(), x[1].abs(), 2", ", None, x[0].exp(), 0", ", x[1].abs(), None, 1"})
    expect_model(
        "x: Tensor, t: Tensor) -> Tensor:\n"
        "    return torch.binary_cross_entropy_with_logits(x * 9, t" +
            std::string(more) + ")\n",
        {{randn({2, 3}), rand({2, 3})}, {randn({5, 3}), rand({5, 3})}}, axes);
}

TEST(OnnxExportOperators, FunctionsOfOddValues) {
  const Tensor x = tensor({0.0, -0.5, 1.5, -2.5, 3.0});
  expect_model("x: Tensor, y: Tensor) -> Tensor:\n    return torch.atan2(x, y)\n",
               {{x, tensor({0.0, -1.0, 0.0, 0.0, 2.0})}});
  expect_model("x: Tensor) -> Tensor:\n    return torch.celu(x, 2.0)\n", {{x.to(kDouble)}, {x}});
  expect_model("x: Tensor) -> Tensor:\n    return torch.floor(x) + torch.round(x)\n",
               {{tensor({3, -4}, kLong)}});
  expect_model(
      "x: Tensor) -> Tensor:\n    return torch.ones([2]) * math.floor(float(x.sum()) * 0.5)\n",
      {{tensor({3.0, 4.0})}, {tensor({-3.0, -4.0})}});
  expect_model(
      "x: Tensor, by: Tensor) -> Tensor:\n"
      "    return torch.baddbmm(x, x, x, beta=by.item(), alpha=by.item() * 2)\n",
      {{randn({2, 3, 3}), full({}, 2.0)}, {randn({2, 3, 3}), full({}, -1.0)}});
  const Tensor square = tensor({4.0, 1.0, 2.0, 3.0}).view({2, 2});
  for (const char* body : {"torch.det(x)", "torch.linalg_det(x)", "torch.logdet(x)"})
    expect_model("x: Tensor) -> Tensor:\n    return " + std::string(body) + "\n", {{square}});
}

// Where ONNX Runtime has no Where, and of numbers as positions.
TEST(OnnxExportOperators, SmallTypesAreChosenAndWritten) {
  const Tensor mask = tensor({1, 0, 1}, kBool), other = tensor({0, 0, 1}, kBool);
  for (const ScalarType d : {kBool, kInt8, kInt16}) {
    const Tensor x = tensor({0, 1, 1}).to(d), y = tensor({1, 0, 1}).to(d);
    for (const char* body : {"torch.where(mask, x, y)", "torch.index_put(x, [mask], y[:1])",
                             "torch.masked_fill(x, mask, y.sum().to(x.dtype))"})
      expect_model(
          "x: Tensor, y: Tensor, mask: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
          {{x, y, mask}, {x, y, other}});
  }
  expect_model("x: Tensor, i: Tensor) -> Tensor:\n    return torch.index_select(x, 1, i)\n",
               {{randn({2, 3}), full({}, 2, kLong)}, {randn({4, 3}), full({}, 0, kLong)}}, kRows);
}

TEST(OnnxExportOperators, PlacesOfMaximaAreThoseOfEachImage) {
  manual_seed(49);
  const Axes axes{{"x", {{0, "n"}, {3, "w"}}}};
  const std::vector<Inputs> runs{{randn({2, 3, 6, 6})}, {randn({3, 3, 6, 9})}};
  for (const char* which : {"0", "1"}) {
    expect_model(
        "x: Tensor) -> Tensor:\n"
        "    return torch.max_pool2d_with_indices(x, [3, 2], [2, 2], [1, 1])[" +
            std::string(which) + "]\n",
        runs, axes);
    expect_model(
        "x: Tensor) -> Tensor:\n"
        "    return torch.max_pool2d_with_indices(x[0], [2, 2])[" +
            std::string(which) + "]\n",
        runs, axes);
  }
}

TEST(OnnxExportOperators, AFactorOfZeroTakesNoNaN) {
  const Tensor nan = full({2, 2}, std::numeric_limits<double>::quiet_NaN());
  for (const char* body :
       {"torch.addmm(x, y, y, beta=0)", "torch.baddbmm(x[None], y[None], y[None], beta=0)[0]"})
    expect_model("x: Tensor, y: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{nan, randn({2, 2})}});
}

TEST(OnnxExportOperators, NumbersAndMasksOfOtherShapes) {
  manual_seed(51);
  const Tensor one = full({}, 1.5), zero = full({}, 0, kLong);
  expect_model("x: Tensor, i: Tensor) -> Tensor:\n    return torch.gather(x, 0, i)\n",
               {{one, zero}});
  for (const char* body : {"torch.scatter(x, 0, i, v)", "torch.scatter_add(x, 0, i, v)"})
    expect_model(
        "x: Tensor, i: Tensor, v: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
        {{one, zero, one * 3}});
  expect_model("i: Tensor) -> Tensor:\n    return torch.one_hot(i, 4)\n", {{full({}, 3, kLong)}});
  expect_model("x: Tensor, w: Tensor) -> Tensor:\n    return torch.linear(x, w)\n",
               {{randn({2, 3}), randn({3})}});
  const Tensor integers = arange(4, kLong).view({2, 2});
  expect_model(
      "x: Tensor) -> Tensor:\n    return torch.addmm(x, x, x, beta=2) + torch.linear(x, x)\n",
      {{integers}});
  for (const Tensor& x : {randn({3, 1}), randn({3}), one})
    expect_model("x: Tensor, mask: Tensor) -> Tensor:\n    return torch.masked_select(x, mask)\n",
                 {{x, tensor({1, 0, 1, 0, 1, 1}, kBool).view({2, 1, 3})}});
}

// What they are made of asks for no size that varies.
TEST(OnnxExportOperators, CompositesOfAnySize) {
  manual_seed(50);
  for (const char* body :
       {"torch.logit(x.sigmoid(), 1e-3)", "torch.deg2rad(x)", "torch.fliplr(x)",
        "torch.hstack([x, x * 2])", "torch.isclose(x, x.round())", "torch.aminmax(x, dim=1)[1]",
        "torch.smooth_l1_loss(x, x * 2, 2)",
        "torch.binary_cross_entropy_with_logits(x, (x > 0).to(torch.float32))",
        "torch.nan_to_num(x / 0, 2.0)", "torch.cosine_similarity(x, x.flip(1), 1)",
        "torch.grid_sampler_2d(x[:, None, None], x[:, None, :2, None].expand(-1, 1, 2, 2), 0, 0, "
        "False)"})
    expect_model("x: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{randn({2, 3})}, {randn({5, 3})}, {randn({1, 3})}}, kRows);
  expect_model("x: Tensor) -> Tensor:\n    return torch.cdist(x, x[:2])\n",
               {{randn({4, 3})}, {randn({2, 3})}, {randn({40, 3})}}, kRows);
  expect_model(
      "x: Tensor, y: Tensor) -> Tensor:\n"
      "    a, b = torch.broadcast_tensors(x, y)\n"
      "    return torch.cat([a, b], 1)\n",
      {{randn({2, 1}), randn({3})}, {randn({5, 1}), randn({3})}}, kRows);
}

TEST(OnnxExportOperators, ScansAndDiagonalsOfAnySize) {
  manual_seed(61);
  for (const char* body :
       {"torch.cumprod(x, 0)", "torch.cumprod(x, 1)", "torch.cummax(x, 0)[0]",
        "torch.cummin(x, 1)[1]", "torch.diagonal(x)", "torch.diagonal(x, -1, 0, 2)",
        "torch.diagonal(x, 2, 2, 1)", "torch.tensordot(x, x, [1, 2], [1, 2])",
        "torch.tensordot(x, x, [0], [0])", "torch.as_strided(x, [x.size(0), 2], [12, 5], 1)"})
    expect_model("x: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{randn({5, 3, 4})}, {randn({7, 3, 4})}, {randn({2, 3, 4})}}, kRows);
  const Tensor nan = full({2, 3, 4}, std::numeric_limits<float>::quiet_NaN());
  expect_model("x: Tensor) -> Tensor:\n    return torch.cummax(x, 0)[1]\n",
               {{randn({5, 3, 4})}, {cat({randn({2, 3, 4}), nan, randn({1, 3, 4})})}}, kRows);
}

TEST(OnnxExportOperators, IntegersAndNeighbors) {
  const Tensor x = tensor({12, -18, 0, 7, 0, 1 << 20}, kLong),
               y = tensor({8, 12, 5, 0, 0, 96}, kLong);
  for (const char* body : {"torch.gcd(x, y)", "torch.lcm(x, y)", "torch.gcd(x.view(6, 1), y)"})
    expect_model("x: Tensor, y: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{x, y}, {y, x + 1}});
  const Tensor runs = tensor({1, 1, 2, 2, 2, 1}, kLong), other = tensor({4, 4, 4}, kLong);
  for (const char* k : {"0", "1", "2"}) {
    expect_model("x: Tensor) -> Tensor:\n    return torch.unique_consecutive(x, True, True)[" +
                     std::string(k) + "]\n",
                 {{runs}, {other}, {tensor({3}, kLong)}}, kRows);
    expect_model("x: Tensor) -> Tensor:\n    return torch.unique_consecutive(x, True, True, 1)[" +
                     std::string(k) + "]\n",
                 {{tensor({1, 1, 1, 2, 2, 3}, kLong).view({2, 3})},
                  {tensor({1, 1, 1, 1, 1, 1}, kLong).view({2, 3})}});
  }
  for (const ScalarType d : {kUInt8, kInt8, kInt16, kInt32, kLong})
    expect_model("x: Tensor) -> Tensor:\n    return torch.pow(2, x)\n", {{arange(5, d)}});
}

TEST(OnnxExportOperators, FunctionsByPolynomials) {
  const Tensor x = tensor({-40.0, -8.0, -7.9, -0.3, 0.0, 1e-6, 2.5, 8.0, 8.1, 60.0}, kFloat),
               y = tensor({-1.0, -0.99999, -0.7, -1e-5, 0.0, 0.3, 0.71, 0.9999, 1.0, 2.0}, kFloat);
  for (const char* f : {"i0", "special_i0e", "special_i1", "special_i1e"})
    for (const ScalarType d : {kFloat, kDouble})
      expect_model("x: Tensor) -> Tensor:\n    return torch." + std::string(f) + "(x)\n",
                   {{x.to(d)}});
  expect_model("x: Tensor) -> Tensor:\n    return torch.erfinv(x)\n", {{y}});
}

// The model would have another rank there.
TEST(OnnxExportOperators, ADynamicAxisIsNotSqueezed) {
  const jit::Module m = define("def forward(self, x: Tensor) -> Tensor:\n    return x.squeeze()\n");
  test::expect_words(test::text_of([&] {
                       (void)written(m, {randn({1, 3, 1})}, kRows);
                     }),
                     {"cannot export aten::squeeze: dimension 0 is dynamic", "size 1"});
  expect_model(m, {{randn({2, 3, 1})}, {randn({5, 3, 1})}}, kRows);
}

TEST(OnnxExportOperators, LossesOfBatchesOfAnySize) {
  manual_seed(46);
  const Axes axes{{"x", {{0, "n"}}}, {"t", {{0, "n"}}}};
  const Tensor classes = tensor({0, 2, 1, 2, 1}, kLong);
  for (const char* body :
       {"torch.cross_entropy_loss(x, t)", "torch.cross_entropy_loss(x, t, None, 0, 2)",
        "torch.cross_entropy_loss(x, t, torch.arange(3) + 1.0, 2)",
        "torch.nll_loss_nd(x, t, torch.arange(3) + 1.0)", "torch.nll_loss(x, t, None, 2, 1)"})
    expect_model("x: Tensor, t: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{randn({2, 3}), classes.slice(0, 0, 2)}, {randn({5, 3}), classes}}, axes);
  for (const char* body : {"torch.kl_div(x, t, 2)", "torch.kl_div(x, t, 1, log_target=True)",
                           "torch.mse_loss(x, t)", "torch.l1_loss(x, t, 0)"})
    expect_model("x: Tensor, t: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{randn({2, 3}), rand({2, 3})}, {randn({5, 3}), zeros({5, 3})}}, axes);
}

TEST(OnnxExportOperators, RoundedToLevels) {
  manual_seed(47);
  for (const char* body : {"torch.fake_quantize_per_tensor_affine(x, 0.13, 3, 0, 15)",
                           "torch.fake_quantize_per_channel_affine(x, torch.arange(1, 4) * 0.1, "
                           "torch.arange(3).int(), 1, -8, 7)"})
    expect_model("x: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{randn({2, 3, 4})}, {randn({5, 3, 4})}}, kRows);
}

TEST(OnnxExportOperators, BoxesAndRegions) {
  manual_seed(48);
  const Tensor corners = rand({6, 2}) * 4, boxes = cat({corners, corners + 2}, 1);
  expect_model(
      "x: Tensor, s: Tensor) -> Tensor:\n    return torch.ops.torchvision.nms(x, s, 0.3)\n",
      {{boxes.slice(0, 0, 3), rand({3})}, {boxes, rand({6})}},
      {{"x", {{0, "n"}}}, {"s", {{0, "n"}}}});
  const Tensor regions = cat({tensor({0.0, 1.0, 0.0, 1.0, 1.0, 0.0}).view({6, 1}), boxes}, 1);
  for (const char* body :
       {"roi_align(x, r, 0.5, 2, 3, 2, True)", "roi_align(x, r, 1.0, 2, 2, -1, False)",
        "roi_pool(x, r, 1.0, 2, 2)[0]", "ps_roi_align(x, r, 0.5, 2, 2, 2)[0]"})
    expect_model("x: Tensor, r: Tensor) -> Tensor:\n    return torch.ops.torchvision." +
                     std::string(body) + "\n",
                 {{randn({2, 4, 8, 8}), regions.slice(0, 0, 2)}, {randn({2, 4, 8, 8}), regions}},
                 {{"r", {{0, "n"}}}});
}

// With weights that `pack` makes, as attribute p.
jit::Module with_weights(const std::string& pack, const std::string& forward) {
  jit::Module m = define("def pack(self):\n" + pack);
  const IValue weights = m.get_method("pack")({});
  m.register_attribute("p", static_cast<const jit::ClassType&>(*weights.toObjectRef().type).self(),
                       weights);
  m.define("def forward(self, x: Tensor) -> Tensor:\n" + forward);
  return m;
}

// Numbers are such that every step is exact, whoever multiplies.
TEST(OnnxExportOperators, QuantizedTensorsAreRoundedRealNumbers) {
  manual_seed(53);
  const std::string rows =
      "    w = torch.quantize_per_tensor(torch.eye(4) - 0.25, 1 / 64, 0, 12)\n"
      "    return ops.quantized.linear_prepack(w, torch.ones(4))\n";
  expect_model(with_weights(rows,
                            "    q = torch.quantize_per_tensor(x, 1 / 8, 100, 13)\n"
                            "    y = ops.quantized.linear_relu(q, self.p, 1 / 16, 3)\n"
                            "    y = ops.quantized.add(y, y, 1 / 4, 8)\n"
                            "    z = ops.quantized.mul(torch.cat([y, q.relu()], 1), -2)\n"
                            "    return z.reshape(-1, 2, 4).permute(0, 2, 1).dequantize()\n"),
               {{randn({2, 4})}, {randn({5, 4})}}, kRows);
  expect_model(with_weights(rows, "    return ops.quantized.linear_dynamic(x, self.p, True)\n"),
               {{randn({2, 4})}, {randn({5, 4})}}, kRows);
  expect_model(
      with_weights(
          "    scales, zeros = torch.tensor([0.25, 0.5]), torch.tensor([0, 2])\n"
          "    w = torch.quantize_per_channel(torch.ones(2, 3, 2, 2), scales, zeros, 0, 12)\n"
          "    return ops.quantized.conv2d_prepack(w, None, [1, 1], [1, 0], [1, 1], 1)\n",
          "    q = torch.quantize_per_tensor(x, 1 / 8, 100, 13)\n"
          "    y = ops.quantized.conv2d(q, self.p, 1 / 4, 64)\n"
          "    return torch.flatten(torch.max_pool2d(y, [2, 2]), 1).dequantize()\n"),
      {{randn({2, 3, 4, 5})}, {randn({3, 3, 4, 5})}}, kRows);
}

TEST(OnnxExportOperators, PointwiseOfQuantizedTensors) {
  manual_seed(54);
  const std::string q = "    q = torch.quantize_per_tensor(x, 1 / 8, 100, 13)\n    return ";
  for (const char* body : {"ops.quantized.leaky_relu(q, 0.25, False, 1 / 32, 90)",
                           "ops.quantized.celu(q.relu(), 1 / 4, 3, 2)",
                           "ops.quantized.mul_relu(q, ops.quantized.add(q, q, 1 / 4, 20), 1.0, 3)"})
    expect_model("x: Tensor) -> Tensor:\n" + q + body + ".dequantize()\n",
                 {{randn({2, 600})}, {randn({5, 600})}}, kRows);
  // Windows of a size that is known behind them.
  for (const char* y : {"ops.quantized.leaky_relu(q, 0.25, False, 1 / 32, 90)",
                        "ops.quantized.add(q, q, 1 / 4, 20)"})
    expect_model("x: Tensor) -> Tensor:\n" + q + "torch.adaptive_avg_pool2d(" + y +
                     ".dequantize(), [2, 2])\n",
                 {{randn({2, 5, 16, 16})}, {randn({3, 5, 16, 16})}}, kRows);
}

// As torch.export and torchao write them: integers in ordinary tensors.
TEST(OnnxExportOperators, StepsInOrdinaryTensors) {
  manual_seed(59);
  const std::string q = "ops.quantized_decomposed.", ao = "ops.torchao.";
  const auto there_and_back = [&](const std::string& kind, const std::string& by,
                                  const std::string& range) {
    return "    q = " + q + "quantize_per_" + kind + "(x, " + by + ", " + range + ")\n    return " +
           q + "dequantize_per_" + kind + "(q, " + by + ", " + range + ")\n";
  };
  const std::string chosen = "    scale, zero = " + q + "choose_qparams(x, -128, 127, 1e-5, 1)\n" +
                             there_and_back("tensor", "scale, zero", "-128, 127, 1");
  const std::string blocks = "    scale, zero = " + ao +
                             "choose_qparams_affine(x, 'ASYMMETRIC', [1, 2], 1)\n    q = " + ao +
                             "quantize_affine(x, [1, 2], scale, zero, 1)\n    return " + ao +
                             "dequantize_affine(q, [1, 2], scale, zero, 1)\n";
  const std::string channels =
      "torch.tensor([0.25, 0.5, 0.125, 1.0]), torch.tensor([0, 1, -2, 3]), 1";
  for (const std::string& body : {there_and_back("tensor", "0.125, 3", "-128, 127, 1"),
                                  there_and_back("tensor", "0.125, 100", "64, 127, 0"),
                                  there_and_back("tensor", "0.125, 1000", "-32768, 32767, 2"),
                                  there_and_back("channel", channels, "-8, 7, 1"), chosen, blocks})
    expect_model("x: Tensor) -> Tensor:\n" + body, {{randn({2, 4})}, {randn({5, 4})}}, kRows);
}

TEST(OnnxExportOperators, PlacesInSortedValues) {
  const Tensor x = tensor({-1.0, 0.5, 2.0, NAN, 0.25, 3.0, 7.0, 2.5}).reshape({2, 4});
  for (const char* body : {"torch.bucketize(x, torch.tensor([0.5, 2.0, 2.0, 3.0]), right=True)",
                           "torch.bucketize(x, torch.tensor([0, 2, 3]), out_int32=True)",
                           "torch.searchsorted(x.nan_to_num().sort(1)[0], x)",
                           "torch.searchsorted(x.nan_to_num().sort(1)[0], x, side='right')"})
    expect_model("x: Tensor) -> Tensor:\n    return " + std::string(body) + " + 1\n",
                 {{x}, {cat({x, x + 0.5}, 0)}}, kRows);
}

TEST(OnnxExportOperators, GammaFunctions) {
  const Tensor x = tensor({-3.25, -0.5, 0.125, 0.75, 1.5, 3.0, 4.75, 60.0}).reshape({2, 4});
  for (const char* name : {"lgamma", "digamma"})
    expect_model("x: Tensor) -> Tensor:\n    return torch." + std::string(name) + "(x)\n",
                 {{x}, {cat({x, x + 0.0625}, 0)}}, kRows);
}

TEST(OnnxExportOperators, RowsArePutAndAdded) {
  manual_seed(61);
  for (const char* body : {"torch.index_copy(x, 1, torch.tensor([2, 0]), x[:, 1:] * 2)",
                           "torch.index_copy(x, 0, torch.tensor(1), x[:1])",
                           "torch.index_add(x, 1, torch.tensor([2, 2]), x[:, 1:], alpha=3)",
                           "x.index_add_(0, torch.arange(x.size(0)).flip(0), x * 2)"})
    expect_model("x: Tensor) -> Tensor:\n    return " + std::string(body) + "\n",
                 {{randn({2, 3})}, {randn({5, 3})}}, kRows);
  expect_model("x: Tensor) -> Tensor:\n    return torch.pixel_unshuffle(x, 2)\n",
               {{randn({2, 3, 4, 6})}, {randn({5, 3, 4, 6})}}, kRows);
}

TEST(OnnxExportOperators, AScaleByDataIsRefused) {
  const jit::Module m = define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "    q = torch.quantize_per_tensor(x, x.abs().max() / 127, torch.tensor(0), 12)\n"
      "    return q.dequantize()\n");
  try {
    (void)written(m, {randn({2, 3})}, {});
    ADD_FAILURE() << "it was written";
  } catch (const NotImplementedError& e) {
    EXPECT_NE(std::string(e.what()).find("that data decide"), std::string::npos) << e.what();
  }
}

}  // namespace
