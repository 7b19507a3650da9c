// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantized programs as torch saves them (data/make_quantized.py).
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "tenon/jit.h"
#include "tenon/quantized.h"
#include "tenon/tenon.h"
#include "tests/jit/formats/support.h"

namespace tenon::jit {
namespace {

Tensor image() { return counted({1, 2, 6, 6}) / 4; }
Tensor sequence() { return counted({3, 2, 4}) / 4; }

TEST(JitQuantized, LayersAndOperatorsGiveTheIntegersOfTorch) {
  expect_results("quantized_static.pt", {image()});
}

TEST(JitQuantized, LayersQuantizeWhatTheyGet) {
  expect_results("quantized_dynamic.pt", {sequence()});
}

// The written archive calls torch's operators and holds no class of quantized weights.
TEST(JitQuantized, SavedProgramsAreThoseOfTorch) {
  for (const auto& [name, x] : {std::pair<const char*, Tensor>{"quantized_static.pt", image()},
                                {"quantized_dynamic.pt", sequence()}}) {
    const Module m = load(data(name));
    const std::string file = ::testing::TempDir() + "quantized_saved.pt";
    m.save(file);
    const auto zip = formats::ZipReader::open(file);
    for (const auto& e : zip->entries()) {
      if (e.name.find("/code/") == std::string::npos) continue;
      const std::string code = zip->read(e);
      EXPECT_EQ(code.find("tenon"), std::string::npos) << e.name << "\n" << code;
      EXPECT_EQ(code.find("class LinearPackedParamsBase"), std::string::npos) << e.name;
    }
    std::vector<Tensor> before, after;
    add_tensors(m.forward({x}), before);
    add_tensors(load(file).forward({x}), after);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(before[i].equal(after[i])) << i;
    std::filesystem::remove(file);
  }
}

TEST(JitQuantized, WorksOnAnotherDevice) {
  const Module on_host = load(data("quantized_static.pt"));
  const Module moved = on_host.clone();
  moved.to(Device("ref"));
  std::vector<Tensor> expected;
  add_tensors(on_host.forward({image()}), expected);
  for (const Module& m : {load(data("quantized_static.pt"), Device("ref")), moved}) {
    std::vector<Tensor> made;
    add_tensors(m.forward({image().to(Device("ref"))}), made);
    ASSERT_EQ(made.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(allclose(made[i].cpu().to(kDouble), expected[i].to(kDouble), 1e-5, 1e-6)) << i;
  }
}

// Text may use them, too; convolutions of torch 1.5 keep a tensor for each number.
TEST(JitQuantized, TextMakesWeightsAndUsesThem) {
  const Module m = define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "  w = torch.quantize_per_tensor(torch.eye(4), 1 / 64, 0, 12)\n"
      "  p = ops.quantized.linear_prepack(w, None)\n"
      "  q = torch.quantize_per_tensor(x, 1 / 8, 100, 13)\n"
      "  return ops.quantized.linear_relu(q, p, 1 / 8, 0).dequantize()\n");
  const Tensor x = counted({3, 4});
  EXPECT_TRUE(allclose(m.forward({x}).toTensor(), relu(x)));
}

// Modules that pad by themselves ("reflect") write a padding of two zeros, of which torch takes
// one.
TEST(JitQuantized, LinesHaveTheFirstOfSeveralPaddings) {
  const Module m = define(
      "def forward(self, x: Tensor) -> Tensor:\n"
      "  w = torch.quantize_per_tensor(torch.ones([1, 1, 1]), 1 / 64, 0, 12)\n"
      "  p = ops.quantized.conv1d_prepack(w, None, [2], [0, 0], [1], 1)\n"
      "  q = torch.quantize_per_tensor(x, 1 / 8, 100, 13)\n"
      "  return ops.quantized.conv1d(q, p, 1 / 8, 100).dequantize()\n");
  const Tensor x = counted({1, 1, 5});
  EXPECT_TRUE(m.forward({x}).toTensor().equal(x.slice(2, 0, 5, 2)));
}

TEST(JitQuantized, ReluSixMayWriteToItsArgument) {
  const Module m = define(
      "def forward(self, x: Tensor, inplace: bool) -> Tensor:\n"
      "  q = torch.quantize_per_tensor(x, 1 / 4, 64, 13)\n"
      "  y = ops.quantized.relu6(q, inplace)\n"
      "  return torch.stack([q.dequantize(), y.dequantize()])\n");
  const Tensor x = tensor({-2.F, 3.F, 8.F}), held = tensor({0.F, 3.F, 6.F});
  EXPECT_TRUE(m.forward({x, false}).toTensor().equal(stack({x, held})));
  EXPECT_TRUE(m.forward({x, true}).toTensor().equal(stack({held, held})));
}

// What training for quantization does in each step: the range, scale and zero point by torch.
TEST(JitQuantized, ObserversFollowTheRange) {
  const Module m = define(
      "def forward(self, x: Tensor, low: Tensor, high: Tensor, scale: Tensor, zero: Tensor, least: "
      "int, most: int, rows: bool) -> Tensor:\n"
      "  on = torch.ones([1], dtype=torch.int64)\n"
      "  y = x\n"
      "  for k in range(1, 3):\n"
      "    y = torch.fused_moving_avg_obs_fake_quant(x * k, on, on, low, high, scale, zero, 0.5, "
      "least, most, 0, rows, rows)\n"
      "  return y\n");
  const Tensor x = counted({2, 3});
  const auto run = [&](int64_t rows, int64_t least, int64_t most, const Tensor& range,
                       const Tensor& parameters, const Tensor& expected) {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<int64_t> sizes(rows > 1 ? 1 : 0, rows);
    const Tensor low = full(sizes, inf), high = full(sizes, -inf);
    const Tensor scale = ones({rows}), zero = zeros({rows}, kInt);
    const Tensor y = m.forward({x, low, high, scale, zero, least, most, rows > 1}).toTensor();
    EXPECT_TRUE(allclose(cat({low.reshape({-1}), high.reshape({-1})}), range));
    EXPECT_TRUE(allclose(cat({scale, zero.to(kFloat)}), parameters));
    EXPECT_TRUE(allclose(y.reshape({-1}), expected, 1e-5, 1e-7)) << y;
  };
  run(1, 0, 255, tensor({-0.5625, 0.375}), tensor({0.0036764706, 153.}),
      tensor({-0.5625, -0.5, -0.25, 0., 0.25, 0.375}));
  run(2, -128, 127, tensor({-0.5625, 0., -0.1875, 0.375}),
      tensor({0.0022058825, 0.0014705883, 127., -128.}),
      tensor({-0.5625, -0.50073534, -0.24926472, 0., 0.25, 0.375}));
}

TEST(JitQuantized, DamagedStatesAreRefused) {
  const auto refusal_of = [](const std::string& from, const std::string& to) -> std::string {
    const std::string bytes = changed("quantized_static.pt", "data.pkl", [&](std::string text) {
      const std::size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos);
      return text.replace(at, from.size(), to);
    });
    std::istringstream in(bytes);
    try {
      (void)load(in);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(refusal_of("per_channel_affine", "per_channel_affinX"), "");
  EXPECT_NE(refusal_of("QInt8Storage", "QInt9Storage"), "");
  EXPECT_NE(refusal_of("QInt8Storage", "QUIntStorage").find("4 and 2 bits"), std::string::npos);
}

}  // namespace
}  // namespace tenon::jit
