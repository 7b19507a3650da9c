// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators whose models are run with other values and sizes than those that they were written
// with.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "tenon/creation.h"
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
void expect_model(const std::string& text, const std::vector<Inputs>& runs, const Axes& axes = {}) {
  SCOPED_TRACE(text);
  const jit::Module m = define("def forward(self, " + text);
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
  for (const char* body : {"roi_align(x, r, 0.5, 2, 3, 2, True)",
                           "roi_align(x, r, 1.0, 2, 2, -1, False)", "roi_pool(x, r, 1.0, 2, 2)[0]"})
    expect_model("x: Tensor, r: Tensor) -> Tensor:\n    return torch.ops.torchvision." +
                     std::string(body) + "\n",
                 {{randn({2, 3, 8, 8}), regions.slice(0, 0, 2)}, {randn({2, 3, 8, 8}), regions}},
                 {{"r", {{0, "n"}}}});
}

}  // namespace
