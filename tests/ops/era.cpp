// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names and forms that PyTorch 0.4 had beside today's: operators, constructors, state of
// generators, print profiles, the default tensor type.
#include <gtest/gtest.h>

#include "tenon/call.h"
#include "tenon/compat/legacy.h"
#include "tenon/runtime/log.h"
#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon {
namespace {

namespace F = nn::functional;
using test::expect_words;
using test::text_of;

// Real and imaginary parts in the last dimension, against a direct sum.
Tensor dft(const Tensor& parts, double sign) {
  const int64_t n = parts.size(0);
  const Tensor k = arange(n, kDouble),
               angle = outer(k, k) * (sign * 2 * M_PI / static_cast<double>(n));
  const Tensor re = parts.select(1, 0), im = parts.select(1, 1), c = angle.cos(), s = angle.sin();
  return stack({c.mv(re) - s.mv(im), s.mv(re) + c.mv(im)}, 1);
}

TEST(EraNames, TransformsOfParts) {
  const Tensor x = randn({6, 2}, kDouble);
  EXPECT_TRUE(allclose(x.fft(1), dft(x, -1)));
  EXPECT_TRUE(allclose(x.ifft(1), dft(x, 1) / 6));
  EXPECT_TRUE(allclose(x.fft(1, true), dft(x, -1) / std::sqrt(6.)));
  const Tensor real = randn({4, 6}, kDouble), whole = stack({real, zeros_like(real)}, -1);
  EXPECT_TRUE(allclose(real.rfft(1, false, false), whole.fft(1)));
  EXPECT_TRUE(allclose(real.rfft(2), whole.fft(2).slice(1, 0, 4)));
  EXPECT_TRUE(allclose(real.rfft(2).irfft(2, false, true, {4, 6}), real));
  EXPECT_TRUE(allclose(real.rfft(1, true, false).irfft(1, true, false), real));
  expect_words(text_of<ValueError>([&] { real.fft(1); }), {"fft", "real and imaginary", "[4, 6]"});
  expect_words(text_of<ValueError>([&] { x.fft(4); }), {"signal_ndim", "4"});
}

TEST(EraNames, GradientsByName) {
  const Tensor g = randn({4, 3}), x = randn({4, 3}), w = tensor({0.1, 0.2, 0.3});
  const Tensor xs = x.clone().requires_grad_(), ws = w.clone().requires_grad_();
  prelu(xs, ws).backward(g);
  const auto [gx, gw] = prelu_backward(g, x, w);
  EXPECT_TRUE(allclose(gx, xs.grad()));
  EXPECT_TRUE(allclose(gw, ws.grad()));
  EXPECT_TRUE(equal(l1_loss_backward(tensor(1.), tensor({1., -2.}), zeros({2}), Reduction::Sum),
                    tensor({1., -1.})));
  const std::vector<std::optional<Tensor>> at = {tensor({0, 0, 2})};
  EXPECT_TRUE(equal(index_backward(tensor({1., 2., 4.}), {3}, at), tensor({3., 0., 4.})));
  const Tensor rows = tensor({1, 1});
  EXPECT_TRUE(equal(embedding_backward(ones({2, 3}), rows, 4, -1, false, false),
                    embedding_dense_backward(ones({2, 3}), rows, 4, -1, false)));
}

TEST(EraNames, FunctionsOfNnByName) {
  const Tensor x = randn({2, 3, 8}).abs();
  EXPECT_TRUE(
      allclose(call("normalize", {x, 3., 2, 1e-12})[0], x / x.pow(3).sum(2, true).pow(1. / 3)));
  const std::vector<int64_t> kernel = {2};
  EXPECT_TRUE(allclose(call("lp_pool1d", {x, 2., kernel})[0],
                       x.reshape({2, 3, 4, 2}).pow(2).sum(-1).sqrt()));
  const auto [pooled, at] = max_pool1d_with_indices(x, {2});
  EXPECT_TRUE(equal(call("max_unpool1d", {pooled, at, std::vector<int64_t>{8}})[0],
                    F::max_unpool1d(pooled, at, F::MaxUnpool1dFuncOptions(2))));
}

TEST(EraNames, LegacyConstructors) {
  EXPECT_EQ(legacy::FloatTensor(5, 3, 4, 1).sizes(), IntArrayRef({5, 3, 4, 1}));
  EXPECT_EQ(legacy::LongTensor(3).sizes(), IntArrayRef({3}));
  EXPECT_EQ(legacy::HalfTensor().numel(), 0);
  EXPECT_TRUE(equal(legacy::ByteTensor{1, 0, 1}, tensor({1, 0, 1}, kByte)));
  EXPECT_TRUE(equal(legacy::IntTensor{{1, 2}, {3, 4}}, tensor({{1, 2}, {3, 4}}, kInt)));
  EXPECT_EQ(legacy::DoubleTensor({1, 1, 1}).type(), "tenon.DoubleTensor");
}

// size_average and reduce of all losses that had them.
TEST(EraNames, ReductionsByTwoFlags) {
  struct Case {
    std::optional<bool> size_average, reduce;
    char reduced;
    const char* name;
  };
  const Case cases[] = {{std::nullopt, std::nullopt, 'm', "kMean"},
                        {true, true, 'm', "kMean"},
                        {false, std::nullopt, 's', "kSum"},
                        {false, true, 's', "kSum"},
                        {true, false, 'n', "kNone"},
                        {false, false, 'n', "kNone"}};
  static std::vector<std::string> heard;
  const Tensor x = rand({3, 4}) * 0.8 + 0.1, y = rand({3, 4}) * 0.8 + 0.1, z = rand({3, 4});
  const Tensor sign = tensor({1., -1., 1.}), classes = tensor({0, 3, 1});
  for (const Case& c : cases) {
    heard.clear();
    const WarningCallback before =
        set_warning_handler([](const WarningMessage& w) { heard.emplace_back(w.message); });
    const legacy::Reduction r = legacy::reduction(c.size_average, c.reduce);
    set_warning_handler(before);
    ASSERT_EQ(heard.size(), 1u);
    test::expect_words(heard[0], {"size_average and reduce", c.name});
    const auto same = [&](auto module, auto... inputs) {
      auto options = module->options;
      using Holder = decltype(module);
      const Tensor given = Holder(options.reduction(r))->forward(inputs...);
      const Tensor each = Holder(options.reduction(kNone))->forward(inputs...);
      const Tensor want = c.reduced == 'n' ? each : c.reduced == 's' ? each.sum() : each.mean();
      EXPECT_TRUE(allclose(given, want)) << module->name() << " " << c.name;
    };
    same(nn::L1Loss(), x, y);
    same(nn::MSELoss(), x, y);
    same(nn::SmoothL1Loss(), x, y);
    same(nn::KLDivLoss(), x.log(), y);
    same(nn::BCELoss(), x, y);
    same(nn::BCEWithLogitsLoss(), x, y);
    same(nn::NLLLoss(), x.log(), classes);
    same(nn::CrossEntropyLoss(), x, classes);
    same(nn::PoissonNLLLoss(), x, y);
    same(nn::SoftMarginLoss(), x, y);
    same(nn::HingeEmbeddingLoss(), x, y.sub(0.5).sign());
    same(nn::MultiMarginLoss(), x, classes);
    same(nn::MultiLabelMarginLoss(), x, zeros({3, 4}, kLong));
    same(nn::MultiLabelSoftMarginLoss(), x, y.round());
    same(nn::CosineEmbeddingLoss(), x, y, sign);
    same(nn::MarginRankingLoss(), x[0], y[0], ones({4}));
    same(nn::TripletMarginLoss(), x, y, z);
  }
  EXPECT_TRUE(equal(nn::MSELoss(legacy::reduction(false))->forward(x, y), (x - y).square().sum()));
  EXPECT_TRUE(equal(nn::functional::l1_loss(x, y, legacy::reduction(true, false)), (x - y).abs()));
}

TEST(EraNames, NewTensor) {
  const Tensor x = zeros({2}, TensorOptions(kDouble).requires_grad(true));
  EXPECT_TRUE(equal(x.new_tensor({1, 2}), tensor({1, 2}, kDouble)));
  EXPECT_FALSE(x.new_tensor({1, 2}).requires_grad());
  EXPECT_EQ(x.new_tensor(3, kInt).scalar_type(), kInt);
  EXPECT_TRUE(x.new_tensor({1}, requires_grad()).requires_grad());
  const Tensor source = ones({3}), copied = tensor(source);
  EXPECT_EQ(x.new_tensor(source).scalar_type(), kDouble);
  source.fill_(7);
  EXPECT_TRUE(equal(copied, ones({3})));
  EXPECT_EQ(tensor(source, kLong).scalar_type(), kLong);
}

TEST(EraNames, CallsAreIndices) {
  using indexing::sugar::all;
  const Tensor x = arange(60).reshape({3, 4, 5});
  EXPECT_TRUE(equal(x(1, all, 3), x.select(0, 1).select(1, 3)));
  EXPECT_TRUE(equal(x(indexing::None, indexing::Ellipsis, 0), x.select(2, 0).unsqueeze(0)));
  EXPECT_TRUE(x(1, all).is_alias_of(x));
}

TEST(EraNames, SetTakesTheMemoryOfAnother) {
  const Tensor x = zeros({2}), y = arange(6, kFloat);
  x.set_(y);
  EXPECT_TRUE(x.is_alias_of(y));
  EXPECT_TRUE(equal(x, y));
  x.set_(y, 1, {2, 2}, {3, 1});
  EXPECT_TRUE(equal(x, tensor({{1., 2.}, {4., 5.}})));
  EXPECT_THROW(x.set_(ones({2}, kInt)), TypeError);
  EXPECT_TRUE(equal(x, tensor({{1., 2.}, {4., 5.}})));
}

TEST(EraNames, TheDefaultTypeByName) {
  set_default_tensor_type("tenon.DoubleTensor");
  EXPECT_EQ(tensor({1.5}).scalar_type(), kDouble);
  EXPECT_EQ(zeros({1}).scalar_type(), kDouble);
  set_default_tensor_type("tenon.FloatTensor");
  EXPECT_EQ(tensor({1.5}).scalar_type(), kFloat);
}

TEST(EraNames, ForkedGenerators) {
  manual_seed(3);
  const Tensor first = rand({4});
  {
    const ForkRng fork({Device(kCPU)});
    manual_seed(99);
    rand({7});
  }
  const Tensor second = rand({4});
  manual_seed(3);
  EXPECT_TRUE(equal(rand({4}), first));
  EXPECT_TRUE(equal(rand({4}), second));
}

// Comparisons in place keep the dtype and have a gradient of zero; masks of bytes are inverted.
TEST(EraNames, MasksOfBytes) {
  const Tensor a = tensor({1., 2.}, requires_grad()), b = a * 1;
  b.lt_(2);
  b.sum().backward();
  EXPECT_TRUE(equal(a.grad(), zeros({2})));
  const compat::Era04 era;
  EXPECT_TRUE(equal(a.detach().index({~(a.detach() > 1.5)}), tensor({1.})));
  expect_words(text_of<TypeError>([] { ~tensor({1, 2}, kInt); }), {"uint8", "int32"});
}

}  // namespace
}  // namespace tenon
