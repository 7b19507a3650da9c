// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products with an epilogue, float32, against the operators that they stand for in double: 3x3
// windows by Winograd's filtering, depthwise windows, lines of images with few channels, oneDNN and
// own products, and each activation.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

using namespace tenon;

namespace {

struct Window {
  const char* name;
  std::vector<int64_t> x, w, stride, pad, dilation;
  int64_t groups = 1;
};

const std::vector<Window> kWindows = {
    {"whole tiles", {1, 32, 16, 16}, {32, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"tiles cut below and at the right", {1, 16, 15, 18}, {24, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"no padding", {1, 20, 23, 17}, {17, 20, 3, 3}, {1, 1}, {0, 0}, {1, 1}},
    {"more padding than a window", {1, 16, 12, 13}, {16, 16, 3, 3}, {1, 1}, {4, 3}, {1, 1}},
    {"blocks that begin within an image", {3, 80, 29, 30}, {90, 80, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"more channels than a step of the product",
     {2, 300, 14, 14},
     {40, 300, 3, 3},
     {1, 1},
     {1, 1},
     {1, 1}},
    {"stride two", {1, 16, 15, 18}, {24, 16, 3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"one tap", {2, 24, 9, 7}, {40, 24, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one tap, in place", {1, 64, 40, 41}, {200, 64, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one tap, panels", {1, 300, 40, 41}, {70, 300, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one tap, panels and dot products",
     {1, 600, 14, 14},
     {230, 600, 1, 1},
     {1, 1},
     {0, 0},
     {1, 1}},
    {"one tap, parts", {1, 600, 14, 25}, {530, 600, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one tap, few pixels", {2, 300, 7, 7}, {530, 300, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one tap, many images", {17, 24, 5, 7}, {40, 24, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one tap of stride two", {2, 64, 28, 29}, {96, 64, 1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"one tap of strides three and one", {9, 5, 8, 7}, {6, 5, 1, 1}, {3, 1}, {0, 0}, {1, 1}},
    {"one tap of volumes", {2, 8, 5, 6, 7}, {12, 8, 1, 1, 1}, {2, 1, 3}, {0, 0, 0}, {1, 1, 1}},
    {"one pixel of a stride", {3, 24, 2, 2}, {40, 24, 1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"one pixel of a window", {3, 24, 3, 3}, {40, 24, 3, 3}, {1, 1}, {0, 0}, {1, 1}},
    {"few channels", {2, 3, 33, 70}, {21, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"few channels, stride two", {1, 3, 61, 150}, {17, 3, 7, 7}, {2, 2}, {3, 3}, {1, 1}},
    {"few channels, stride three and gaps", {9, 2, 40, 90}, {9, 2, 3, 4}, {2, 3}, {5, 7}, {3, 2}},
    {"few channels, one line", {1, 4, 3, 300}, {70, 4, 3, 3}, {1, 1}, {0, 2}, {1, 1}},
    {"few channels, mostly padding", {1, 1, 5, 6}, {90, 1, 5, 5}, {1, 1}, {9, 20}, {1, 1}},
    {"depthwise 3x3", {2, 24, 19, 22}, {24, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 24},
    {"depthwise 3x3 of stride two", {2, 9, 27, 67}, {9, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 9},
    {"depthwise 3x3, no padding", {1, 9, 9, 15}, {9, 1, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 9},
    {"depthwise 5x5", {2, 24, 14, 14}, {24, 1, 5, 5}, {1, 1}, {2, 2}, {1, 1}, 24},
    {"depthwise 5x5, two columns", {1, 24, 7, 2}, {24, 1, 5, 5}, {1, 1}, {2, 2}, {1, 1}, 24},
    {"depthwise 5x5, wide", {1, 300, 6, 35}, {300, 1, 5, 5}, {1, 1}, {3, 4}, {1, 1}, 300},
    {"depthwise 5x5 of stride two", {1, 8, 15, 14}, {8, 1, 5, 5}, {2, 2}, {2, 2}, {1, 1}, 8},
    {"depthwise 5x5 of stride two, odd padding",
     {1, 8, 13, 37},
     {8, 1, 5, 5},
     {2, 2},
     {1, 3},
     {1, 1},
     8},
    {"depthwise, stride three and gaps", {1, 6, 20, 19}, {6, 1, 3, 2}, {3, 2}, {2, 1}, {2, 3}, 6},
    {"depthwise, narrow", {1, 5, 6, 1}, {5, 1, 3, 1}, {1, 2}, {1, 0}, {1, 1}, 5},
    {"one pixel", {3, 24, 1, 1}, {40, 24, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"one dimension", {2, 16, 50}, {24, 16, 5}, {2}, {2}, {1}},
    {"filters in parts", {1, 40, 33, 30}, {96, 40, 3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"filters in parts, few channels", {2, 3, 48, 50}, {64, 3, 7, 7}, {2, 1}, {3, 3}, {1, 1}},
    {"groups in parts", {1, 64, 28, 30}, {128, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 4},
    {"volumes in parts", {1, 20, 9, 10, 11}, {64, 20, 3, 3, 3}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}},
};

Tensor wide(const Tensor& t) { return t.to(kDouble); }

// Over the largest value: that of one product may be small.
double error(const Tensor& given, const Tensor& want) {
  return ((wide(given) - want).abs().max() / want.abs().max()).item<double>();
}

Tensor run(const Window& c, const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& o) {
  return _conv_epilogue(x, w, b, o, c.stride, c.pad, c.dilation, c.groups, "relu", {});
}

struct Activation {
  const char* name;
  std::vector<double> parameters;
};
const std::vector<Activation> kActivations = {
    {"none", {}},          {"relu", {}},         {"gelu", {}},    {"gelu_tanh", {}},
    {"silu", {}},          {"hardswish", {}},    {"sigmoid", {}}, {"hardsigmoid", {}},
    {"hardtanh", {-1, 2}}, {"leaky_relu", {.1}}, {"elu", {1.5}},  {"tanh", {}},
};

}  // namespace

TEST(Epilogues, ConvolutionsAgreeWithDouble) {
  for (const Window& c : kWindows) {
    const Tensor x = randn(c.x), w = randn(c.w) * 0.2, b = randn({c.w[0]});
    const Tensor sum =
        convolution(wide(x), wide(w), wide(b), c.stride, c.pad, c.dilation, false, {0}, c.groups);
    const Tensor other = randn(sum.sizes());
    for (int call = 0; call < 3; ++call)  // packed weights are kept from the second call on
      EXPECT_LT(error(run(c, x, w, b, other), relu(sum + wide(other))), 5e-6) << c.name;
    const Tensor without =
        convolution(wide(x), wide(w), {}, c.stride, c.pad, c.dilation, false, {0}, c.groups);
    EXPECT_LT(error(run(c, x, w, {}, {}), relu(without)), 5e-6) << c.name;
  }
}

TEST(Epilogues, OneImageMayLackTheBatch) {
  for (const Window& c : kWindows) {
    if (c.x[0] != 1) continue;
    std::vector<Tensor> leaves = {randn(c.x), randn(c.w), randn({c.w[0]})};
    for (Tensor& t : leaves) t.set_requires_grad(true);
    const Tensor want = run(c, leaves[0], leaves[1], leaves[2], {}), g = randn(want.sizes());
    const Tensor other = randn(want.sizes());
    const Tensor given = run(c, leaves[0].squeeze(0), leaves[1], leaves[2], {});
    EXPECT_TRUE(test::same_bits(given.detach(), want.detach().squeeze(0))) << c.name;
    EXPECT_TRUE(test::same_bits(
        run(c, leaves[0].detach().squeeze(0), leaves[1].detach(), {}, other.squeeze(0)),
        run(c, leaves[0].detach(), leaves[1].detach(), {}, other).squeeze(0)))
        << c.name;
    const auto gradients = autograd::grad({given}, leaves, {g.squeeze(0)}),
               wanted = autograd::grad({want}, leaves, {g});
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_TRUE(test::same_bits(gradients[i], wanted[i])) << c.name << " " << i;
  }
  EXPECT_THROW(_conv_epilogue(randn({4, 4}), randn({3, 4, 1, 1}), {}, {}, {1, 1}, {0, 0}, {1, 1}, 1,
                              "none", {}),
               ValueError);
}

TEST(Epilogues, SameBitsOnOneThreadAndOnTwo) {
  for (const Window& c : kWindows) {
    const Tensor x = randn(c.x), w = randn(c.w), b = randn({c.w[0]});
    const auto both = [&]() -> std::vector<Tensor> {
      return {run(c, x, w, b, {}),
              convolution(x, w, b, c.stride, c.pad, c.dilation, false, {0}, c.groups)};
    };
    test::expect_same_bits_on(2, both, c.name);
  }
}

// Rows, columns and depth of products that are computed in different ways.
TEST(Epilogues, LinearsOfEverySizeAgreeWithDouble) {
  const int64_t sizes[][3] = {{3, 5, 4},     {1, 300, 200},   {20, 1, 30},    {40, 200, 300},
                              {100, 50, 70}, {300, 400, 600}, {600, 49, 500}, {700, 900, 300}};
  for (const auto& [m, n, k] : sizes) {
    const Tensor x = randn({m, k}), w = randn({n, k}), b = randn({n}), o = randn({m, n});
    const Tensor want = relu(linear(wide(x), wide(w), wide(b)) + wide(o));
    for (int call = 0; call < 3; ++call)
      EXPECT_LT(error(_linear_epilogue(x, w, b, o, "relu", {}), want), 5e-6) << m << " " << n;
    const auto both = [&]() -> std::vector<Tensor> {
      return {_linear_epilogue(x, w, b, o, "relu", {})};
    };
    test::expect_same_bits_on(2, both, "linear");
  }
}

TEST(Epilogues, WeightsThatWereWrittenArePackedAgain) {
  const Window& c = kWindows[0];
  const Tensor x = randn(c.x), b = zeros({c.w[0]});
  Tensor w = randn(c.w);
  for (int call = 0; call < 3; ++call) run(c, x, w, b, {});
  w.mul_(-2);
  const Tensor want =
      relu(convolution(wide(x), wide(w), wide(b), c.stride, c.pad, c.dilation, false, {0}, 1));
  EXPECT_LT(error(run(c, x, w, b, {}), want), 5e-6);
}

// The same matrix, stored by columns.
Tensor lying(const Tensor& matrix) { return matrix.t().contiguous().t(); }

TEST(Epilogues, ActivationsAreThoseOfTheOperators) {
  const Tensor x = randn({9, 33}) * 2, w = randn({37, 33}), b = randn({37}), o = randn({9, 37});
  for (const Activation& a : kActivations) {
    const Tensor want = _linear_epilogue(wide(x), wide(w), wide(b), wide(o), a.name, a.parameters);
    EXPECT_LT(error(_linear_epilogue(x, w, b, o, a.name, a.parameters), want), 5e-6) << a.name;
    const Tensor strided = _linear_epilogue(lying(x), lying(w), b, lying(o), a.name, a.parameters);
    EXPECT_LT(error(strided, want), 5e-6) << a.name;
    const Tensor one = x.narrow(0, 0, 1), wanted = want.narrow(0, 0, 1);
    EXPECT_LT(error(_linear_epilogue(one, w, b, o.narrow(0, 0, 1), a.name, a.parameters), wanted),
              5e-6)
        << a.name;
  }
}

// Pages of a file are given back once they are packed, and read again; what was written stays.
TEST(Epilogues, WeightsOfAFileAreThoseThatWereWrittenLast) {
  const std::string path = testing::TempDir() + "epilogue_weights_" + std::to_string(getpid());
  const Tensor x = randn({64, 512}), saved = randn({1024, 512});
  save(saved, path);
  Tensor w;
  load(w, path);
  ASSERT_TRUE(w.unsafeGetTensorImpl()->storage->head.flags & TN_STORAGE_FILE_PAGES);
  const auto off = [&](const Tensor& weight) {
    return error(_linear_epilogue(x, w, {}, {}, "none", {}), wide(x).mm(wide(weight).t()));
  };
  EXPECT_LT(off(saved), 5e-6);
  EXPECT_TRUE(w.equal(saved));
  w.mul_(-2);
  EXPECT_LT(off(saved * -2), 5e-6);
  EXPECT_TRUE(w.equal(saved * -2));
  std::remove(path.c_str());
}

TEST(Epilogues, ValuesThatAreNotFiniteStayVisible) {
  const Window& c = kWindows[0];
  Tensor x = randn(c.x);
  x.view(-1)[5].fill_(NAN);
  const Tensor y = run(c, x, randn(c.w), zeros({c.w[0]}), {});
  EXPECT_TRUE(y.isnan().any().item<bool>());
}

TEST(Epilogues, GradientsAreThoseOfTheParts) {
  for (const Activation& a : kActivations) {
    std::vector<Tensor> leaves = {randn({2, 3, 5, 4}, kDouble), randn({4, 3, 3, 3}, kDouble),
                                  randn({4}, kDouble), randn({2, 4, 5, 4}, kDouble)};
    for (Tensor& t : leaves) t.set_requires_grad(true);
    const std::vector<int64_t> one{1, 1};
    const Tensor given = _conv_epilogue(leaves[0], leaves[1], leaves[2], leaves[3], one, one, one,
                                        1, a.name, a.parameters);
    const Tensor sum = conv2d(leaves[0], leaves[1], leaves[2], 1, 1) + leaves[3];
    // A product with the identity leaves the activation.
    const Tensor want = _linear_epilogue(sum, eye(4, kDouble), {}, {}, a.name, a.parameters);
    const Tensor g = randn(given.sizes(), kDouble);
    const auto of = [&](const Tensor& y) { return autograd::grad({y}, leaves, {g}); };
    const auto gradients = of(given), wanted = of(want);
    for (std::size_t i = 0; i < leaves.size(); ++i)
      EXPECT_LT(error(gradients[i], wanted[i]), 1e-12) << a.name << " " << i;
  }
}

TEST(Epilogues, BadArgumentsAreRefused) {
  const Tensor x = randn({2, 3}), w = randn({4, 3});
  const auto message = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const ValueError& e) {
      return e.msg();
    }
    return "";
  };
  EXPECT_NE(message([&] { _linear_epilogue(x, w, {}, {}, "swish", {}); }).find("one of none, relu"),
            std::string::npos);
  EXPECT_NE(message([&] { _linear_epilogue(x, w, {}, {}, "hardtanh", {1.0}); }).find("2 entries"),
            std::string::npos);
  EXPECT_NE(message([&] { _linear_epilogue(x, w, {}, randn({4}), "none", {}); }).find("'other'"),
            std::string::npos);
  EXPECT_EQ(_linear_epilogue(x, w, {}, {}, "none", {}).sizes(), (IntArrayRef{2, 4}));
}
