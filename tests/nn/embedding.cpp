// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Bags of embeddings: against look-ups that are joined bag by bag, and libtorch's results.
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/gradcheck.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/runtime/allocator.h"
#include "tests/support.h"

namespace tenon {
namespace {

namespace F = nn::functional;
using test::expect_words;
using test::text_of;

const TensorOptions kDoubles(kDouble);

Tensor table() { return (arange(30, kDoubles).reshape({6, 5}) * 37 % 11) / 4 - 1; }
Tensor longs(std::vector<int64_t> v) { return tensor(v, TensorOptions(kLong)); }
const Tensor kInput = longs({1, 3, 3, 0, 5, 2, 3}), kOffsets = longs({0, 3, 3, 6});

// The expected bags, from their rows.
Tensor by_rows(const Tensor& weight, const Tensor& input, const std::vector<int64_t>& starts,
               const char* mode, const Tensor& factors = {}, int64_t padding = -1) {
  std::vector<Tensor> bags;
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    std::vector<Tensor> rows;
    for (int64_t i = starts[b]; i < starts[b + 1]; ++i) {
      const int64_t at = input.select(0, i).item<int64_t>();
      if (at == padding) continue;
      const Tensor row = weight.select(0, at);
      rows.push_back(factors.defined() ? row * factors.select(0, i) : row);
    }
    if (rows.empty()) {
      bags.push_back(zeros({weight.size(1)}, weight.options().requires_grad(false)));
      continue;
    }
    const Tensor all = stack(rows, 0);
    bags.push_back(*mode == 's'     ? all.sum({0})
                   : mode[1] == 'e' ? all.mean({0})
                                    : std::get<0>(all.max(0)));
  }
  return stack(bags, 0);
}

F::EmbeddingBagFuncOptions options() { return F::EmbeddingBagFuncOptions().offsets(kOffsets); }

TEST(EmbeddingBag, JoinsTheRowsOfEachBag) {
  for (ScalarType t : {kDouble, kFloat, kHalf, kBFloat16}) {
    const Tensor w = table().to(t);
    const double tol = t == kDouble || t == kFloat ? 1e-6 : 2e-2;
    const auto check = [&](const Tensor& got, const Tensor& expected) {
      EXPECT_EQ(got.scalar_type(), t);
      EXPECT_TRUE(got.to(kDouble).allclose(expected, tol, tol)) << got << "\ninstead of\n"
                                                                << expected;
    };
    const std::vector<int64_t> starts = {0, 3, 3, 6, 7};
    const Tensor wide = w.to(kDouble);
    check(F::embedding_bag(kInput, w, options().mode(kSum)), by_rows(wide, kInput, starts, "sum"));
    check(F::embedding_bag(kInput, w, options()), by_rows(wide, kInput, starts, "mean"));
    check(F::embedding_bag(kInput, w, options().mode(kMax)), by_rows(wide, kInput, starts, "max"));
    check(F::embedding_bag(kInput, w, options().mode(kMax).padding_idx(3)),
          by_rows(wide, kInput, starts, "max", {}, 3));
    check(F::embedding_bag(kInput, w, options().padding_idx(-3)),
          by_rows(wide, kInput, starts, "mean", {}, 3));
    const Tensor factors = (arange(7, kDoubles) / 2 - 1).to(t);
    check(F::embedding_bag(kInput, w, options().mode(kSum).per_sample_weights(factors)),
          by_rows(wide, kInput, starts, "sum", factors.to(kDouble)));
  }
}

TEST(EmbeddingBag, TellsBagsAndSizes) {
  auto [out, bag, size, row] =
      embedding_bag(table(), kInput, kOffsets, false, 2, false, std::nullopt, false, 3);
  EXPECT_TRUE(bag.equal(longs({0, 0, 0, 2, 2, 2, 3})));
  EXPECT_TRUE(size.equal(longs({1, 0, 3, 0})));
  EXPECT_EQ(row.sizes(), out.sizes());
  EXPECT_TRUE(row.select(0, 0).eq(1).all().item<bool>());
}

TEST(EmbeddingBag, TakesRowsOfTwoDimensions) {
  const Tensor input = longs({1, 2, 0, 5, 5, 3}).reshape({2, 3});
  const Tensor flat = input.reshape({-1});
  EXPECT_TRUE(F::embedding_bag(input, table()).allclose(by_rows(table(), flat, {0, 3, 6}, "mean")));
  EXPECT_TRUE(F::embedding_bag(input.to(kInt), table())
                  .allclose(by_rows(table(), flat, {0, 3, 6}, "mean")));
  const Tensor ends = F::embedding_bag(
      kInput, table(),
      F::EmbeddingBagFuncOptions().offsets(longs({0, 2, 7})).include_last_offset(true));
  EXPECT_TRUE(ends.allclose(by_rows(table(), kInput, {0, 2, 7}, "mean")));
}

TEST(EmbeddingBag, Gradients) {
  const Tensor weight = table().requires_grad_(),
               factors = (arange(7, kDoubles) / 2 - 1).requires_grad_();
  for (const bool padded : {false, true}) {
    const std::optional<int64_t> padding = padded ? std::optional<int64_t>(3) : std::nullopt;
    const auto of = [&](nn::EmbeddingBagMode mode) {
      return [=](const std::vector<Tensor>& in) {
        F::EmbeddingBagFuncOptions o = options().mode(mode).padding_idx(padding);
        if (in.size() > 1) o.per_sample_weights(in[1]);
        return std::vector<Tensor>{F::embedding_bag(kInput, in[0], o)};
      };
    };
    for (nn::EmbeddingBagMode mode : {nn::EmbeddingBagMode(kSum), nn::EmbeddingBagMode(kMean)}) {
      EXPECT_TRUE(autograd::gradcheck(of(mode), {weight}));
      EXPECT_TRUE(autograd::gradgradcheck(of(mode), {weight}));
    }
    EXPECT_TRUE(autograd::gradcheck(of(kSum), {weight, factors}));
    EXPECT_TRUE(autograd::gradgradcheck(of(kSum), {weight, factors}));
    // Difference quotients of maxima need rows that differ.
    const Tensor apart = (arange(30, kDoubles).reshape({6, 5}) * 7 % 30 / 10).requires_grad_();
    EXPECT_TRUE(autograd::gradcheck(of(kMax), {apart}));
    EXPECT_TRUE(autograd::gradgradcheck(of(kMax), {apart}));
  }
}

struct Known {
  int64_t mode, padding;
  std::vector<double> out, by_weight, by_factors;
};

// What libtorch 2.15 makes of these, the gradients for outputs weighted 1, 2, 3 ...
TEST(EmbeddingBag, AgreesWithLibtorch) {
  const double t = 1. / 3;
  const Known cases[] = {
      {0,
       -1,
       {-1.375, -0.125, -0.25, -1.75, -0.5, 0,   0,   0,  0, 0,
        -0.125, -1.25,  1.75,  0.625, -0.5, 0.5, 2.5, -1, 1, 3},
       {5.5,  6,  6.5,  7,  7.5,  -1, -2, -3, -4, -5, 16.5, 18, 19.5, 21, 22.5,
        31.5, 33, 34.5, 36, 37.5, 0,  0,  0,  0,  0,  11,   12, 13,   14, 15},
       {6.5, 10.75, 10.75, -4.75, 11.5, -1, 55.75}},
      {0,
       3,
       {-1.25,  0.5,   -0.5, -1.5,  0.25, 0, 0, 0, 0, 0,
        -0.125, -1.25, 1.75, 0.625, -0.5, 0, 0, 0, 0, 0},
       {5.5, 6, 6.5, 7, 7.5, -1, -2, -3, -4, -5, 16.5, 18, 19.5, 21, 22.5,
        0,   0, 0,   0, 0,   0,  0,  0,  0,  0,  11,   12, 13,   14, 15},
       {6.5, 0, 0, -4.75, 11.5, -1, 0}},
      {1,
       -1,
       {7. / 12, 2 * t, -t / 2, 10. / 12, 11. / 12, 0,    0,    0,    0,   0,
        -t,      -0.25, 0.75,   -1. / 12, 0,        0.25, 1.25, -0.5, 0.5, 1.5},
       {11 * t, 4, 13 * t, 14 * t, 5, t,      2 * t,  1,      4 * t,  5 * t,
        11 * t, 4, 13 * t, 14 * t, 5, 50 * t, 55 * t, 20,     65 * t, 70 * t,
        0,      0, 0,      0,      0, 11 * t, 4,      13 * t, 14 * t, 5},
       {}},
      {2,
       -1,
       {1.25, 1.25, 0.5,  1.5, 1.5, 0,    0,    0,    0,   0,
        0.75, 0.25, 1.25, 1,   0.5, 0.25, 1.25, -0.5, 0.5, 1.5},
       {0,  0,  0,  0,  0,  1, 0, 3, 4, 0, 11, 0,  0,  14, 0,
        16, 19, 18, 19, 25, 0, 0, 0, 0, 0, 0,  12, 13, 0,  15},
       {}},
      {2,
       3,
       {1.25, -0.5, 0.5, 1.5, -0.25, 0, 0, 0, 0, 0, 0.75, 0.25, 1.25, 1, 0.5, 0, 0, 0, 0, 0},
       {0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 11, 0,  0,  14, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  12, 13, 0,  15},
       {}},
  };
  for (const Known& c : cases) {
    const Tensor w = table().requires_grad_(),
                 factors = (arange(7, kDoubles) / 2 - 1).requires_grad_();
    const Tensor out = std::get<0>(
        embedding_bag(w, kInput, kOffsets, false, c.mode, false,
                      c.mode == 0 ? std::optional<Tensor>(factors) : std::nullopt, false,
                      c.padding < 0 ? std::nullopt : std::optional<int64_t>(c.padding)));
    (out * (arange(20, kDoubles).reshape({4, 5}) + 1)).sum().backward();
    EXPECT_TRUE(out.reshape({-1}).allclose(tensor(c.out, kDoubles)))
        << c.mode << " " << c.padding << out;
    EXPECT_TRUE(w.grad().reshape({-1}).allclose(tensor(c.by_weight, kDoubles)))
        << c.mode << " " << w.grad();
    if (c.mode == 0) {
      EXPECT_TRUE(factors.grad().allclose(tensor(c.by_factors, kDoubles))) << factors.grad();
    }
  }
}

// There is never a matrix of one row per token, neither in forward nor in backward.
// Nothing as large may have been made before in this process, since peaks stay.
TEST(EmbeddingBag, MemoryIsThatOfTheBagsAndTheTable) {
  constexpr int64_t kTokens = 40000, kRows = 500, kDim = 128, kBags = 100;
  const Tensor input = (arange(kTokens) * 7919).remainder(kRows);
  const Tensor offsets = arange(kBags) * (kTokens / kBags), weight = ones({kRows, kDim});
  const auto expect_little = [&](const F::EmbeddingBagFuncOptions& how, const Tensor& w) {
    const uint64_t before = core::memory_stats(core::kHost).allocated_peak;
    const Tensor bags = F::embedding_bag(input, w, how);
    if (bags.requires_grad()) bags.sum().backward();
    const uint64_t more = core::memory_stats(core::kHost).allocated_peak - before;
    EXPECT_LT(more, uint64_t{kTokens * kDim}) << "a quarter of the matrix";
  };
  const auto plain = [&] { return F::EmbeddingBagFuncOptions().offsets(offsets); };
  expect_little(plain().mode(kSum), weight);
  expect_little(plain(), weight);
  expect_little(plain().padding_idx(3), weight);
  expect_little(plain().mode(kSum).per_sample_weights(ones({kTokens})), weight);
  const Tensor table = ones({kRows, kDim}, requires_grad());
  const auto expect_sum = [&](double sum) {
    EXPECT_NEAR(table.grad().sum().item<double>(), sum, sum * 1e-6);
    table.mutable_grad().reset();
  };
  expect_little(plain().mode(kMax), table);
  expect_sum(kBags * kDim);
  expect_little(plain().mode(kSum), table);
  expect_sum(kTokens * kDim);
  expect_little(plain(), table);
  expect_sum(kBags * kDim);
  expect_little(plain().mode(kSum).scale_grad_by_freq(true), table);
  expect_sum(kRows * kDim);
  const Tensor factors = full({kTokens}, 2.0).requires_grad_();
  expect_little(plain().mode(kSum).per_sample_weights(factors).padding_idx(3), table);
  expect_sum(2.0 * (kTokens - kTokens / kRows) * kDim);
  EXPECT_EQ(factors.grad().sum().item<float>(), float{(kTokens - kTokens / kRows) * kDim});
}

TEST(EmbeddingBag, ScalesByFrequency) {
  const Tensor weight = table().requires_grad_();
  F::embedding_bag(kInput, weight, options().mode(kSum).scale_grad_by_freq(true)).sum().backward();
  EXPECT_TRUE(weight.grad().select(1, 0).allclose(tensor({1., 1., 1., 1., 0., 1.}).to(kDouble)));
}

TEST(EmbeddingBag, ShortensRowsInPlace) {
  Tensor weight = table();
  const Tensor before = weight.clone();
  (void)F::embedding_bag(kInput, weight, options().max_norm(0.5));
  const Tensor norms = weight.norm(2, {1}), old = before.norm(2, {1});
  for (int64_t i : {0, 1, 2, 3, 5}) EXPECT_LE(norms.select(0, i).item<double>(), 0.5 + 1e-6);
  EXPECT_TRUE(weight.select(0, 4).equal(before.select(0, 4))) << "no bag has row 4";
}

TEST(EmbeddingBag, Refuses) {
  const Tensor w = table();
  const auto refusal = [&](const Tensor& input, const F::EmbeddingBagFuncOptions& o) {
    return text_of<Error>([&] { (void)F::embedding_bag(input, w, o); });
  };
  expect_words(refusal(kInput, {}), {"offsets has to be a 1D Tensor but got null"});
  expect_words(refusal(kInput, F::EmbeddingBagFuncOptions().offsets(zeros({1, 1}, kLong))),
               {"offsets has to be a 1D Tensor"});
  expect_words(refusal(kInput.reshape({1, 7}), options()),
               {"If input is 2D, then offsets has to be null"});
  expect_words(refusal(kInput.reshape({1, 1, 7}), options()),
               {"input has to be 1D or 2D Tensor", "dimension 3"});
  expect_words(refusal(kInput, options().per_sample_weights(ones({6}, kDoubles))),
               {"same shape as the input"});
  expect_words(refusal(kInput, options().per_sample_weights(ones({7}, kDoubles))),
               {"per_sample_weights is only supported for mode='kSum'", "kMean"});
  expect_words(refusal(kInput, options().mode(kMax).scale_grad_by_freq(true)),
               {"max mode does not support scaling the gradient by the frequency"});
  expect_words(refusal(kInput, options().mode(kMax).sparse(true)),
               {"max mode does not support sparse weights"});
  expect_words(refusal(kInput, options().padding_idx(6)),
               {"padding_idx must be within the number of embeddings", "6"});
  expect_words(refusal(longs({0, 6}), F::EmbeddingBagFuncOptions().offsets(longs({0}))),
               {"index 6", "out of bounds"});
  const auto with = [&](std::vector<int64_t> at) {
    return refusal(kInput, F::EmbeddingBagFuncOptions().offsets(longs(std::move(at))));
  };
  expect_words(with({1, 3}), {"offsets[0] has to be 0", "1"});
  expect_words(with({0, 8}), {"offsets[-1] can not be greater than input's length", "8"});
  expect_words(with({0, 5, 3}), {"offsets must not decrease"});
  expect_words(with({0, -2}), {"-2"});
  expect_words(with({}), {"no bag", "7 indices"});
}

TEST(EmbeddingBag, IsAModule) {
  nn::EmbeddingBag bag(nn::EmbeddingBagOptions(6, 5).mode(kSum).padding_idx(-1).sparse(true));
  EXPECT_EQ(bag->weight.select(0, 5).abs().sum().item<float>(), 0);
  EXPECT_EQ(bag->forward(kInput, kOffsets).sizes(), IntArrayRef({4, 5}));
  std::ostringstream text;
  text << *bag;
  EXPECT_EQ(text.str(),
            "tenon::nn::EmbeddingBag(num_embeddings=6, embedding_dim=5, sparse=true, mode=kSum, "
            "padding_idx=5)");
  auto fixed = nn::EmbeddingBag::from_pretrained(
      table(), nn::EmbeddingBagFromPretrainedOptions().mode(kMax));
  EXPECT_FALSE(fixed->weight.requires_grad());
  EXPECT_TRUE(fixed->forward(kInput, kOffsets)
                  .equal(F::embedding_bag(kInput, table(), options().mode(kMax))));
  expect_words(text_of<ValueError>([] {
                 nn::EmbeddingBag(nn::EmbeddingBagOptions(2, 2)._weight(ones({3, 2})));
               }),
               {"EmbeddingBag", "_weight", "2, 2", "3, 2"});
  nn::Sequential net(nn::EmbeddingBag(6, 5), nn::Linear(5, 2));
  EXPECT_EQ(net->forward(kInput.slice(0, 0, 6).reshape({2, 3})).sizes(), IntArrayRef({2, 2}));
}

}  // namespace
}  // namespace tenon
