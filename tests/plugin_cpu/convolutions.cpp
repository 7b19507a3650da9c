// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions in bfloat16 on tiles, with their gradients, against double.
#include <vector>

#include "tenon/autograd.h"
#include "tests/plugin_cpu/on_tiles.h"
#include "tests/support.h"

using namespace tenon;
using test::bf16;
using test::near;
using test::same_bits;

namespace {

struct Case {
  const char* name;
  std::vector<int64_t> x, w;
  std::vector<int64_t> stride, pad, dilation;
  bool transposed = false;
  std::vector<int64_t> out_pad = {0};
  int64_t groups = 1;
};

const std::vector<Case> kCases = {
    {"square", {2, 32, 12, 12}, {32, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"channels that do not fill a tile", {3, 24, 11, 13}, {40, 24, 3, 2}, {1, 1}, {2, 0}, {1, 1}},
    {"one tap", {2, 64, 9, 10}, {17, 64, 1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {"strides", {2, 16, 15, 18}, {24, 16, 3, 4}, {2, 3}, {1, 2}, {1, 1}},
    {"gaps", {1, 16, 17, 16}, {16, 16, 3, 3}, {1, 2}, {2, 3}, {2, 3}},
    {"groups", {2, 36, 10, 9}, {48, 12, 3, 3}, {1, 1}, {1, 1}, {1, 1}, false, {0, 0}, 3},
    {"more than an area", {1, 8, 16, 40}, {140, 8, 5, 5}, {1, 1}, {2, 2}, {1, 1}},
    {"more pixels than a step of the gradient",
     {1, 8, 24, 40},
     {8, 8, 3, 3},
     {1, 1},
     {1, 1},
     {1, 1}},
    {"one dimension", {4, 16, 50}, {32, 16, 5}, {2}, {2}, {1}},
    {"three dimensions", {1, 16, 5, 6, 7}, {16, 16, 2, 3, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}},
    {"transposed", {2, 32, 9, 8}, {32, 16, 3, 3}, {2, 2}, {1, 1}, {1, 1}, true, {1, 0}},
    {"transposed in groups", {1, 32, 9, 8}, {32, 8, 2, 3}, {1, 2}, {0, 1}, {1, 2}, true, {0, 1}, 2},
};

// The result and the gradients of input, weight and bias.
std::vector<Tensor> run(const Case& c, const Tensor& x, const Tensor& w, const Tensor& b,
                        const Tensor& grad) {
  std::vector<Tensor> leaves;
  for (const Tensor& t : {x, w, b}) leaves.push_back(t.detach().set_requires_grad(true));
  const Tensor y = convolution(leaves[0], leaves[1], leaves[2], c.stride, c.pad, c.dilation,
                               c.transposed, c.out_pad, c.groups);
  y.backward(grad.defined() ? grad : ones_like(y));
  return {y.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

struct Operands {
  Tensor x, w, b, grad;
  explicit Operands(const Case& c) {
    x = bf16(randn(c.x)), w = bf16(randn(c.w)),
    b = bf16(randn({c.transposed ? c.w[1] * c.groups : c.w[0]}));
    const NoGradGuard none;
    grad = bf16(randn_like(
        convolution(x, w, b, c.stride, c.pad, c.dilation, c.transposed, c.out_pad, c.groups)));
  }
  std::vector<Tensor> run_with(const Case& c) const { return run(c, x, w, b, grad); }
};

}  // namespace

class TileConvolutions : public test::OnTiles {};

TEST_F(TileConvolutions, ResultsAndGradientsAreRoundedOnce) {
  for (const Case& c : kCases) {
    const Operands o(c);
    const auto given = o.run_with(c);
    const auto wide = [](const Tensor& t) { return t.to(kDouble); };
    const auto size = [](const Tensor& t) { return t.to(kDouble).abs(); };
    const auto want = run(c, wide(o.x), wide(o.w), wide(o.b), wide(o.grad));
    const auto terms = run(c, size(o.x), size(o.w), size(o.b), size(o.grad));
    for (std::size_t i = 0; i < given.size(); ++i)
      EXPECT_TRUE(near(given[i], want[i], terms[i])) << c.name << " " << i;
  }
}

// The windows written out, in the kernel's order of taps and channels.
TEST_F(TileConvolutions, BitsAreThoseOfTheProductOverWindows) {
  const Tensor x = bf16(randn({2, 32, 10, 14})), w = bf16(randn({20, 32, 3, 3}));
  // What the first tap adds the last one takes away: what is added between them is rounded, so that
  // the order shows.
  x.select(1, 0).fill_(0x1p20);
  w.select(1, 0).fill_(0);
  w.select(1, 0).select(2, 0).select(1, 0).fill_(1);
  w.select(1, 0).select(2, 2).select(1, 2).fill_(-1);
  const Tensor y = conv2d(x, w, std::nullopt, {1}, {1});
  const Tensor wide = constant_pad_nd(x, {1, 1, 1, 1});
  for (int64_t n = 0; n < 2; ++n) {
    std::vector<Tensor> windows, taps;
    for (int64_t i = 0; i < 9; ++i) {
      windows.push_back(
          wide[n].slice(1, i / 3, i / 3 + 10).slice(2, i % 3, i % 3 + 14).reshape({32, 140}));
      taps.push_back(w.select(3, i % 3).select(2, i / 3));
    }
    EXPECT_TRUE(same_bits(y[n].contiguous(), mm(cat(taps, 1), cat(windows, 0)).view({20, 10, 14})));
  }
}

TEST_F(TileConvolutions, ManyImagesArePackedInParts) {
  // Nine images fill what is packed at once, as 8 channels take the room of 32.
  const Tensor x = bf16(randn({10, 8, 170, 170})),
               w = bf16(randn({8, 8, 1, 1})).set_requires_grad(true);
  const Tensor y = conv2d(x, w), grad = bf16(randn_like(y));
  y.backward(grad);
  const auto lines = [](const Tensor& t) {
    return t.detach().transpose(0, 1).reshape({8, -1}).to(kDouble);
  };
  const Tensor weights = w.detach().view({8, 8}).to(kDouble);
  EXPECT_TRUE(near(y.detach().transpose(0, 1).reshape({8, -1}), mm(weights, lines(x)),
                   mm(weights.abs(), lines(x).abs())));
  EXPECT_TRUE(near(w.grad().view({8, 8}), mm(lines(grad), lines(x).t()),
                   mm(lines(grad).abs(), lines(x).abs().t())));
}

TEST_F(TileConvolutions, SameBitsOnOneThreadAndOnTwo) {
  for (const Case& c : kCases) {
    const Operands o(c);
    test::expect_same_bits_on(
        2, [&] { return o.run_with(c); }, c.name);
  }
}
