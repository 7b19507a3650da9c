// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What libtorch's own test suite found, with the values of torch 2.15.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/autograd.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/runtime/log.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;

TEST(Factories, RequiresGradOfTheOptionsIsKept) {
  const TensorOptions o = requires_grad();
  const Tensor like = ones({2, 3}), index = zeros({1, 1}, kLong), values = ones({1});
  const std::vector<std::pair<const char*, Tensor>> made = {
      {"empty", empty({2}, o)},
      {"empty_strided", empty_strided({2, 3}, {1, 2}, o)},
      {"empty_like", empty_like(like, o)},
      {"new_empty", like.new_empty({2}, o)},
      {"new_empty_strided", like.new_empty_strided({2}, {1}, o)},
      {"zeros", zeros({2}, o)},
      {"zeros_like", zeros_like(like, o)},
      {"new_zeros", like.new_zeros({2}, o)},
      {"ones", ones({2}, o)},
      {"ones_like", ones_like(like, o)},
      {"new_ones", like.new_ones({2}, o)},
      {"full", full({2}, 1.5, o)},
      {"full_like", full_like(like, 1.5, o)},
      {"new_full", like.new_full({2}, 1.5, o)},
      {"scalar_tensor", scalar_tensor(1.5, o)},
      {"scalar_tensor half", scalar_tensor(1.5, o.dtype(kHalf))},
      {"arange", arange(3.0, o)},
      {"arange.start", arange(1.0, 3.0, o)},
      {"arange.start_step", arange(1.0, 3.0, 0.5, o)},
      {"range", range(1.0, 3.0, o)},
      {"range.step", range(1.0, 3.0, 0.5, o)},
      {"linspace", linspace(1, 3, 4, o)},
      {"logspace", logspace(1, 3, 4, 10, o)},
      {"eye", eye(2, o)},
      {"eye.m", eye(2, 3, o)},
      {"hann_window", hann_window(4, o)},
      {"hamming_window", hamming_window(1, o)},
      {"bartlett_window", bartlett_window(4, false, o)},
      {"rand", rand({2}, o)},
      {"rand_like", rand_like(like, o)},
      {"randn", randn({2}, o)},
      {"randn_like", randn_like(like, o)},
      {"randint", randint(3, {2}, o.dtype(kFloat))},
      {"randint_like", randint_like(like, 3, o)},
      {"randperm", randperm(3, o.dtype(kFloat))},
      {"normal", normal(0, 1, {2}, std::nullopt, o)},
      {"tensor", tensor({1.0, 2.0}, o)},
      {"sparse_coo_tensor", sparse_coo_tensor(index, values, {2}, o)},
  };
  for (const auto& [name, t] : made) {
    EXPECT_TRUE(t.requires_grad()) << name;
    EXPECT_TRUE(t.is_leaf()) << name;
  }
  EXPECT_FALSE(empty({2}, requires_grad(false)).requires_grad());
  // A leaf that requires grad may not be written.
  EXPECT_THROW(empty({2}, o).fill_(1), Error);
  for (const auto& make : {+[] { return arange(3, requires_grad()); },
                           +[] { return randint(3, {2}, requires_grad()); },
                           +[] { return zeros({2}, requires_grad().dtype(kBool)); }}) {
    EXPECT_THROW(make(), Error) << "integers have no gradient";
  }
}

TEST(To, OptionsMayNotAskForRequiresGrad) {
  const Tensor x = empty({3, 4}, requires_grad());
  EXPECT_TRUE(x.to(kDouble).requires_grad());
  for (const Tensor& t : {x, empty({2})}) {
    expect_words(text_of([&] { t.to(requires_grad()); }), {"to: ", "requires_grad"});
    expect_words(text_of([&] { t.to(requires_grad().dtype(kDouble)); }), {"requires_grad"});
    EXPECT_EQ(t.to(requires_grad(false)).requires_grad(), t.requires_grad());
  }
}

TEST(BinaryCrossEntropy, AColumnMeetsAVectorElementByElement) {
  // torch.ops.aten.binary_cross_entropy of these: sizes (4, 1) and (4,).
  Tensor x = tensor({0.1, 0.4, 0.6, 0.9}).view({4, 1}).requires_grad_(true);
  const Tensor y = tensor({0.0, 1.0, 1.0, 0.5});
  const Tensor each = binary_cross_entropy(x, y, {}, 0);
  EXPECT_EQ(each.sizes(), IntArrayRef({4, 1}));
  const double want[] = {-std::log(0.9), -std::log(0.4), -std::log(0.6),
                         -0.5 * (std::log(0.9) + std::log(0.1))};
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(each[i].item<double>(), want[i], 1e-6);
  binary_cross_entropy(x, y).backward();
  EXPECT_EQ(x.grad().sizes(), IntArrayRef({4, 1}));
  EXPECT_TRUE(
      allclose(x.grad().view({4}), tensor({1 / 0.9, -1 / 0.4, -1 / 0.6, (0.9 - 0.5) / 0.09}) / 4));
  const auto shape = [](IntArrayRef input, IntArrayRef target) {
    return binary_cross_entropy(full(input, 0.3), full(target, 0.6), {}, 0).sizes().vec();
  };
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(shape({4}, {4, 1}), (Sizes{4}));
  EXPECT_EQ(shape({4, 1}, {1, 4}), (Sizes{4, 1}));
  EXPECT_EQ(shape({4}, {}), (Sizes{4}));
  EXPECT_EQ(shape({2, 3}, {3}), (Sizes{2, 3}));
  EXPECT_EQ(shape({2, 1, 3}, {2, 3}), (Sizes{2, 1, 3}));
  EXPECT_THROW(shape({2, 3}, {6}), ValueError);
  EXPECT_THROW(shape({4, 1}, {3}), ValueError);
  // There torch warns that it resizes an output, and leaves out elements.
  EXPECT_THROW(shape({3}, {2, 3}), ValueError);
  EXPECT_THROW(shape({1}, {4}), ValueError);
  expect_words(text_of([] {
                 binary_cross_entropy(full({4, 1}, 0.3), full({4}, 0.6), ones({4}));
               }),
               {"[4, 4]", "[4, 1]"});
  // The functional form refuses, as libtorch's.
  EXPECT_THROW(nn::functional::binary_cross_entropy(x, y), ValueError);
}

TEST(BinaryCrossEntropyWithLogits, HasTheTargetsShape) {
  const auto shape = [](IntArrayRef input, IntArrayRef target) {
    return binary_cross_entropy_with_logits(full(input, 0.3), full(target, 0.6), {}, {}, 0)
        .sizes()
        .vec();
  };
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(shape({4}, {3, 4}), (Sizes{3, 4}));
  EXPECT_EQ(shape({}, {4}), (Sizes{4}));
  expect_words(text_of<ValueError>([&] { shape({4, 1}, {4}); }), {"[4, 4]", "target"});
  EXPECT_THROW(shape({4}, {4, 1}), ValueError);
  EXPECT_THROW(shape({4}, {}), ValueError);
  EXPECT_THROW(binary_cross_entropy_with_logits(ones({4}), ones({4}), ones({3, 4})), ValueError);
  EXPECT_THROW(binary_cross_entropy_with_logits(ones({4}), ones({4}), {}, ones({3, 4})),
               ValueError);
}

TEST(ClipGradNorm, AnyOrderAndGradientsThatAreNotFinite) {
  constexpr double kInf = INFINITY;
  struct Case {
    double order, first, total, a, b,
        c;  // gradients {first, 4} and {1, 0}; afterwards {a, b} and {c, 0}
  };
  // torch 2.15, and for order 0 libtorch: the number of gradients. NaN: not looked at.
  const Case cases[] = {
      {0, 3, 2, 1.5, 2, 0.5},
      {0, kInf, 2, kInf, 2, 0.5},
      {-kInf, 3, 0, 3, 4, 1},
      {-kInf, kInf, 0, kInf, 4, 1},
      {kInf, 3, 4, 0.75, 1, 0.25},
      {kInf, kInf, kInf, NAN, 0, 0},
      {1, 3, 8, 0.375, 0.5, 0.125},
      {1, kInf, kInf, NAN, 0, 0},
      {2, 3, 5.0990195, 0.58834833, 0.78446442, 0.1961161},
      {-1, 3, 0, 3, 4, 1},
      {0.5, 3, 22.392305, 0.13397458, 0.17863278, 0.044658195},
      {2, NAN, NAN, NAN, NAN, NAN},
      {-kInf, NAN, NAN, NAN, NAN, NAN},
  };
  const auto expect = [](double got, double want, const Case& c) {
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << c.order << " " << c.first << ": " << got;
    } else if (std::isinf(want)) {
      EXPECT_EQ(got, want) << c.order;
    } else {
      EXPECT_NEAR(got, want, 1e-5) << c.order << " " << c.first;
    }
  };
  for (const Case& c : cases) {
    std::vector<Tensor> ps = {zeros({2}, requires_grad()), zeros({2}, requires_grad()),
                              zeros({2}, requires_grad())};
    ps[0].mutable_grad() = tensor({c.first, 4.0}, kFloat);
    ps[1].mutable_grad() = tensor({1.0, 0.0}, kFloat);
    expect(nn::utils::clip_grad_norm_(ps, 1, c.order), c.total, c);
    expect(ps[0].grad()[0].item<double>(), c.a, c);
    expect(ps[0].grad()[1].item<double>(), c.b, c);
    expect(ps[1].grad()[0].item<double>(), c.c, c);
    ps[0].mutable_grad() = tensor({c.first, 4.0}, kFloat);
    const auto strict = [&] { nn::utils::clip_grad_norm_(ps, 1, c.order, true); };
    EXPECT_EQ(text_of<ValueError>(strict).empty(), std::isfinite(c.total))
        << c.order << " " << c.first;
  }
}

int g_warnings = 0;

TEST(Indexing, AUint8MaskWarns) {
  g_warnings = 0;
  const auto before = set_warning_handler(
      [](const WarningMessage& w) { g_warnings += test::has(std::string(w.message), "uint8"); });
  const Tensor x = arange(3), mask = tensor({1, 0, 1}, kByte);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(equal(x.index({mask}), tensor({0, 2})));
  set_warning_handler(before);
  EXPECT_EQ(g_warnings, 2);
}

// TensorIndexingTest.TestIndexSetitemBoolsSlices of libtorch.
TEST(Indexing, TruthValuesWriteAllOrNothing) {
  for (Tensor a : {randn({2, 3}), full({}, 3.0)}) {
    const Tensor minus = -ones_like(a), deep = minus.unsqueeze(0).unsqueeze(0);
    const Tensor yes = ones({}, kByte), no = zeros({}, kByte);
    double k = 1;
    const auto wrote = [&] { return equal(a, minus * k); };
    a.index_put_({true}, deep * k);
    EXPECT_TRUE(wrote());
    a.index_put_({false}, 5);
    EXPECT_TRUE(wrote());
    a.index_put_({yes}, deep * ++k);
    EXPECT_TRUE(wrote());
    a.index_put_({no}, 5);
    EXPECT_TRUE(wrote());
    a.index_put_({indexing::None, yes}, deep * ++k);
    EXPECT_TRUE(wrote());
    a.index_put_({indexing::None, no}, 7);
    EXPECT_TRUE(wrote());
    a.index_put_({indexing::Ellipsis, ones({}, kBool)}, deep.view_as(a.unsqueeze(-1)) * ++k);
    EXPECT_TRUE(wrote());
    if (a.dim() == 0) continue;
    a.index_put_({indexing::Slice(), yes}, deep.view({2, 1, 3}) * ++k);
    EXPECT_TRUE(wrote());
    a.index_put_({indexing::Slice(), no}, 7);
    EXPECT_TRUE(wrote());
  }
}

TEST(Module, AnUndefinedParameterThatShallRequireGradWarns) {
  struct Net : nn::Module {
    void add(const char* name, bool grad) { register_parameter(name, Tensor(), grad); }
  } net;
  g_warnings = 0;
  const auto before = set_warning_handler(
      [](const WarningMessage& w) { g_warnings += test::has(std::string(w.message), "'a'"); });
  net.add("a", true);
  net.add("b", false);
  set_warning_handler(before);
  EXPECT_EQ(g_warnings, 1);
}

TEST(Module, ARefusedFileChangesNothing) {
  nn::Sequential net(nn::Linear(2, 3), nn::Linear(3, 1));
  const auto state = net->state_dict();
  std::vector<Tensor> before;
  for (const auto& item : state) before.push_back(item.value().clone());
  // The last tensor is sparse: its sizes are right, and it cannot be copied.
  OrderedDict<std::string, Tensor> file;
  for (const auto& item : state) file.insert(item.key(), ones_like(item.value()));
  const std::string last = state.back().key();
  file[last] = file[last].to_sparse();
  expect_words(text_of<ValueError>([&] { net->load_state_dict(file); }),
               {"layout of", last.c_str(), "sparse"});
  std::size_t i = 0;
  for (const auto& item : net->state_dict())
    EXPECT_TRUE(equal(item.value(), before[i++])) << item.key();
}

TEST(AlphaDropout, KeepsMeanAndVariance) {
  manual_seed(1);
  const Tensor x = randn({1000000});
  for (double p : {0.1, 0.5, 0.8}) {
    const Tensor y = alpha_dropout(x, p, true),
                 z = feature_alpha_dropout(x.view({1000, 1000}).unsqueeze(2), p, true);
    EXPECT_NEAR(y.mean().item<double>(), 0, 0.01) << p;
    EXPECT_NEAR(y.var().item<double>(), 1, 0.02) << p;
    EXPECT_NEAR(z.mean().item<double>(), 0, 0.01) << p;
    EXPECT_NEAR(z.var().item<double>(), 1, 0.02) << p;
  }
}

}  // namespace
}  // namespace tenon
