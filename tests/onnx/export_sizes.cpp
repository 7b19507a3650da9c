// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Models with dynamic axes whose other sizes stay known, and writes to memory with several names.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/creation.h"
#include "tenon/onnx.h"
#include "tenon/onnx/export.h"
#include "tenon/ops.h"
#include "tests/onnx/programs.h"
#include "tests/support.h"

using namespace tenon;

namespace {

onnx::ExportOptions any(const std::map<int64_t, std::string>& axes) {
  onnx::ExportOptions options;
  options.input_names = {"x"};
  options.dynamic_axes = {{"x", axes}};
  options.opset = 18;
  return options;
}

std::string exported(const jit::Module& m, const Tensor& x, const onnx::ExportOptions& options) {
  std::ostringstream out;
  onnx::export_(m, {x}, out, options);
  return out.str();
}

void expect_same(const jit::Module& a, const jit::Module& b, const Tensor& x) {
  const Tensor got = a.forward({x.clone()}).toTensor(),
               expected = b.forward({x.clone()}).toTensor();
  ASSERT_EQ(got.sizes(), expected.sizes());
  EXPECT_LE((got - expected).abs().max().item<float>(), 1e-5);
}

// Written with the example's sizes, and run with others.
void expect_any_size(const std::string& body, const Tensor& example,
                     const std::map<int64_t, std::string>& axes,
                     const std::vector<Tensor>& others) {
  SCOPED_TRACE(body);
  const jit::Module m = define_of_x(body);
  jit::Module back;
  ASSERT_NO_THROW(back = onnx::load_bytes(exported(m, example, any(axes))));
  expect_same(back, m, example);
  for (const Tensor& x : others) expect_same(back, m, x);
}

const std::map<int64_t, std::string> kBatch{{0, "batch"}};

TEST(OnnxExportSizes, WhatDependsOnFixedSizesIsWrittenWithThem) {
  manual_seed(31);
  const Tensor x = randn({2, 3, 4, 6});
  const std::vector<Tensor> others{randn({5, 3, 4, 6}), randn({1, 3, 4, 6})};
  for (const char* body :
       {// a table of the image's sizes that is written part by part
        "    mask = torch.zeros([x.size(2), x.size(3)])\n"
        "    mask[:2, 1:].fill_(3)\n"
        "    mask[2:, :-2].add_(1)\n"
        "    return x + mask\n",
        "    return torch.adaptive_avg_pool2d(x, [2, 3])\n",
        "    return torch.var(x, [2, 3], unbiased=True)\n",
        "    y = x.view(-1, 3, 2, 2, 3, 2).permute(0, 2, 4, 3, 5, 1).reshape(-1, 4, 3)\n"
        "    return torch.roll(y, [1, -1], [1, 2]) + torch.eye(y.size(1), y.size(2))\n",
        "    n, c, h, w = x.size()\n"
        "    return torch.cdist(torch.eye(h), torch.ones([h, h])).sum() + x.flatten(1)\n"})
    expect_any_size(body, x, kBatch, others);
}

TEST(OnnxExportSizes, WindowsOfAxesOfAnySize) {
  manual_seed(32);
  const std::map<int64_t, std::string> image{{0, "n"}, {2, "h"}, {3, "w"}};
  const Tensor x = randn({2, 3, 7, 8});
  for (const char* body :
       {"    return x.unfold(2, 3, 2)\n", "    return x.unfold(-1, 2, 3).unfold(2, 2, 1)\n",
        "    return torch.im2col(x, [3, 2], [1, 2], [1, 0], [2, 1])\n",
        "    return torch.im2col(x, [2, 2], [1, 1], [0, 1], [2, 3])\n"}) {
    expect_any_size(body, x, image, {randn({1, 3, 9, 11}), randn({3, 3, 6, 5})});
    expect_any_size(body, x, kBatch, {randn({4, 3, 7, 8})});
  }
}

TEST(OnnxExportSizes, ASizeThatVariesIsNotTakenForFixed) {
  const Tensor x = ones({2, 3, 4, 6});
  for (const char* body : {"    return torch.adaptive_avg_pool2d(x.transpose(0, 2), [2, 3])\n",
                           "    return torch.diag_embed(x.reshape(-1, 6))\n"}) {
    SCOPED_TRACE(body);
    const std::string text = test::text_of([&] { exported(define_of_x(body), x, any(kBatch)); });
    test::expect_words(text, {"sizes that are known"});
  }
}

TEST(OnnxExportSizes, PartsOfADimensionOfAnySize) {
  manual_seed(34);
  const std::map<int64_t, std::string> axis{{1, "n"}};
  const auto tensors = [](std::initializer_list<int64_t> sizes) {
    std::vector<Tensor> all;
    for (const int64_t n : sizes) all.push_back(randn({2, n, 3}));
    return all;
  };
  const Tensor x = randn({2, 7, 3});
  // taken apart, so that there are as many in every run
  expect_any_size("    a, b, c = torch.chunk(x, 3, 1)\n    return torch.cat([c, b, a * 2], 1)\n", x,
                  axis, tensors({9, 8, 3}));
  expect_any_size("    a, b, c = torch.tensor_split(x, 3, 1)\n    return torch.cat([c, b, a], 1)\n",
                  x, axis, tensors({9, 8, 2}));
  expect_any_size("    a, b = torch.tensor_split(x, [2], 1)\n    return torch.cat([b, a * 2], 1)\n",
                  x, axis, tensors({9, 2, 1}));
  expect_any_size("    a, b = torch.split(x, 4, 1)\n    return torch.cat([b, a * 2], 1)\n", x, axis,
                  tensors({8, 5}));
  expect_any_size(
      "    a, b = torch.split(x, [x.size(1) - 2, 2], 1)\n    return torch.cat([b, a * 2], 1)\n", x,
      axis, tensors({9, 3}));
  // as many as there are
  expect_any_size("    return torch.cat(torch.split(x[:, :6], 2, 1), 2)\n", x, axis,
                  tensors({4, 2}));
  expect_any_size("    return torch.stack(torch.unbind(x, 1))\n", x, axis, tensors({4, 1}));
  expect_any_size(
      "    total = torch.zeros([2, 3])\n"
      "    for part in torch.split(x, 2, 1):\n"
      "        total = total * 0.5 + part.sum(1)\n"
      "    return total + len(torch.split(x, 3, 1))\n",
      x, axis, tensors({9, 4, 1}));
}

// Where the program fails, so does the model.
TEST(OnnxExportSizes, PartsThatAreNotThereAreNotMadeUp) {
  const jit::Module m =
      define_of_x("    a, b = torch.split(x, 4, 1)\n    return torch.cat([b, a * 2], 1)\n");
  const jit::Module back = onnx::load_bytes(exported(m, randn({2, 7, 3}), any({{1, "n"}})));
  EXPECT_THROW((void)back.forward({randn({2, 9, 3})}), Error);
  EXPECT_THROW((void)back.forward({randn({2, 3, 3})}), Error);
}

// A constant keeps its sizes when the program writes to it.
TEST(OnnxExportSizes, WritesLeaveTheSizesOfConstants) {
  onnx::ExportOptions options;
  options.opset = 18;
  const jit::Module m = define_of_x(
      "    positive = x[x > 0]\n"
      "    table = torch.zeros([4, 3])\n"
      "    table[:, 1] = x.sum(1)\n"
      "    return torch.cdist(table, x) + positive.sum()\n");
  const jit::Module back = onnx::load_bytes(exported(m, randn({4, 3}), options));
  for (int i = 0; i < 2; ++i) expect_same(back, m, randn({4, 3}));
}

// Also where no axis is dynamic, so that the inputs have one size.
TEST(OnnxExportSizes, WritesToSlicesOfAnySize) {
  manual_seed(37);
  const Tensor x = randn({4, 3, 2, 2});
  for (const char* body : {"    y = x * 2\n"
                           "    n = int(x[0].flatten().argmax()) % x.size(0)\n"
                           "    y[n:].fill_(7)\n"
                           "    y[:n].add_(x[:n])\n"
                           "    return y\n",
                           "    y = x * 2\n"
                           "    y[2:-2].fill_(7)\n"
                           "    y[-3:2].sub_(1)\n"
                           "    y[1::3].add_(1)\n"
                           "    return y\n"})
    expect_any_size(body, x, kBatch,
                    {randn({7, 3, 2, 2}), randn({3, 3, 2, 2}), randn({1, 3, 2, 2})});
}

TEST(OnnxExportSizes, SizesThatDataDecideAreThoseOfEachRun) {
  onnx::ExportOptions options;
  options.opset = 18;
  for (const char* body :
       {"    return torch.ones([(x > 0).nonzero().size(0)]) * 2\n",
        "    return x * x[x > 0].size(0)\n", "    return x[torch.where(x > 0)[0]]\n",
        "    return torch.bincount(x.abs().long(), minlength=2) * 1.0\n",
        "    return torch.bincount(x.abs().long(), x, 6)\n",
        "    return torch.one_hot(x.abs().long()).float()\n",
        "    return torch.repeat_interleave(x, x.abs().long())\n",
        "    y = torch.stack([x, x])\n"
        "    return torch.repeat_interleave(y, x.abs().long(), 1)\n",
        "    return torch.repeat_interleave(torch.stack([x, -x], 1), 3, 0)\n",
        "    return x[torch.repeat_interleave(x.abs().long().clamp(0, 1))]\n",
        "    chosen = torch.masked_select(x, x > 1)\n"
        "    return torch.cat([x, torch.zeros([chosen.numel()])])\n"}) {
    SCOPED_TRACE(body);
    const jit::Module m = define_of_x(body);
    const jit::Module back = onnx::load_bytes(exported(m, tensor({1.0, -1.0, 2.0, 3.0}), options));
    for (const Tensor& x : {tensor({1.0, -1.0, 2.0, 3.0}), tensor({-1.0, -1.0, 2.0, -3.0})})
      expect_same(back, m, x);
  }
}

TEST(OnnxExportSizes, WritesShowInEveryViewOfTheMemory) {
  manual_seed(33);
  const Tensor x = randn({2, 3, 4});
  for (const char* body : {// a column of a tensor, through a slice that stays a name of it
                           "    y = x * 2\n"
                           "    rows = y[:, 1:]\n"
                           "    y[:, 0].copy_(torch.sum(x, 1))\n"
                           "    rows[:, -1].mul_(x[:, 0])\n"
                           "    return y + rows.sum()\n",
                           // views that were made before and are read after, also in a list
                           "    y = torch.relu(x)\n"
                           "    t = y.transpose(1, 2)\n"
                           "    parts = [y[:, 0], t[:, 1]]\n"
                           "    y.view(-1, 12)[:, 3].add_(10)\n"
                           "    t[:, :2, 1:].sub_(3)\n"
                           "    return y + torch.cat(parts, 1).sum()\n",
                           // tables that are constants until a value of the input is written
                           "    y = torch.zeros([3, 4])\n"
                           "    first = y[0]\n"
                           "    y.unsqueeze(0)[:, 1:].fill_(2)\n"
                           "    y[0].copy_(x.sum([0, 1]))\n"
                           "    y[:, -1:].div_(4)\n"
                           "    return x + y + first\n",
                           "    y = x + 1\n"
                           "    z = y.squeeze(0).clamp_(-1, 1)\n"
                           "    z.exp_()\n"
                           "    return y * z\n"}) {
    expect_any_size(body, x, kBatch, {randn({5, 3, 4})});
    const jit::Module m = define_of_x(body);
    onnx::ExportOptions fixed;
    fixed.opset = 18;
    expect_same(onnx::load_bytes(exported(m, x, fixed)), m, x);
  }
}

TEST(OnnxExportSizes, WritesToMemoryOfUnknownNamesAreRefused) {
  const Tensor x = ones({2, 4});
  for (const char* body : {"    y = x * 2\n"
                           "    a = torch.chunk(y, 2, 1)\n"
                           "    a[0].add_(1)\n"
                           "    return y * torch.cat(a).sum()\n",
                           "    y = (x * 2)[:1].expand(3, 4)\n"
                           "    z = y[0]\n"
                           "    z.add_(1)\n"
                           "    return y\n"}) {
    SCOPED_TRACE(body);
    const std::string text = test::text_of([&] { exported(define_of_x(body), x, {}); });
    test::expect_words(text, {"it writes to memory that has other names"});
  }
}

TEST(OnnxExportSizes, ElementsInTheOrderInWhichTheyLie) {
  manual_seed(34);
  const jit::Module m = define_of_x(
      "    y = (x * 2).transpose(0, 1)\n"
      "    return torch.as_strided(y, [3, 2, 5], [2, 1, 3])\n");
  const Tensor x = randn({4, 5});
  onnx::ExportOptions options;
  options.opset = 18;
  expect_same(onnx::load_bytes(exported(m, x, options)), m, x);
}

// A model that was read with sizes of the run, written again.
TEST(OnnxExportSizes, ModelsThatResizeAreWrittenAgain) {
  manual_seed(35);
  for (const char* body :
       {"    return torch.upsample_bilinear2d(x, [8, 9], False)\n",
        "    return torch.upsample_nearest2d(x, [x.size(2) * 2, 9])\n",
        "    return torch.upsample_bilinear2d(x[:, :2], [x.size(2), 7], True)\n"}) {
    for (const int64_t opset : {17, 18}) {
      SCOPED_TRACE(core::join(body, " ", opset));
      const jit::Module m = define_of_x(body);
      const Tensor x = randn({2, 3, 4, 6});
      onnx::ExportOptions options = any(kBatch);
      options.opset = opset;
      const jit::Module once = onnx::load_bytes(exported(m, x, options));
      jit::Module twice;
      ASSERT_NO_THROW(twice = onnx::load_bytes(exported(once, x, options)));
      for (const int64_t n : {2, 5}) {
        const Tensor more = randn({n, 3, 4, 6});
        expect_same(once, m, more);
        expect_same(twice, m, more);
      }
    }
  }
}

TEST(OnnxExportSizes, LossesAndMeansOfPlacesAreOfAnySize) {
  manual_seed(37);
  const Tensor x = randn({4, 6});
  for (const char* body :
       {"    return torch.triplet_margin_loss(x, x * 2, x.flip([0]), 0.5, 2.0, 1e-6, True)\n",
        "    return torch.triplet_margin_loss(x, x * 2, x.flip([0]), 1.0, 3.0, 1e-6, False, 0)\n",
        "    return torch.cosine_embedding_loss(x, x.flip([0]), torch.sign(x[:, 0]), 0.1)\n",
        "    return torch.hinge_embedding_loss(x, torch.sign(x * x - 1), 0.5, 0)\n",
        "    return torch.cross_entropy_loss(x, torch.softmax(x * 2, 1))\n",
        "    return torch.cross_entropy_loss(x, torch.softmax(x * 2, 1), torch.arange(6.0), 1, "
        "-100, 0.1)\n",
        "    return torch.cross_entropy_loss(x.view(-1, 3, 2), torch.sigmoid(x).view(-1, 3, 2), "
        "torch.arange(3.0), 0)\n",
        "    return torch.soft_margin_loss(x, torch.sign(x * x - 1))\n",
        "    at = (x > 0).to(torch.int64)\n"
        "    return torch.ones_like(x).scatter_reduce(0, at, x, 'mean')\n",
        "    at = (x > 0).to(torch.int64)\n"
        "    return (x * 3).scatter_reduce(0, at, x, 'mean', include_self=False)\n",
        "    at = torch.tensor([[0, 1, 0], [2, 1, 1]])\n"
        "    return torch.ones_like(x).scatter_reduce(0, at, x, 'mean')\n"})
    expect_any_size(body, x, kBatch, {randn({7, 6}), randn({3, 6})});
}

}  // namespace
