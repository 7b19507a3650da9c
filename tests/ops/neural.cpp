// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients, to the second order, of convolutions, pooling, norms, softmax and losses, and their
// error texts.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/parallel.h"
#include "tests/gradients.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;
using test::leaf;

TEST(Convolution, Gradients) {
  check_gradients(
      [](const Inputs& v) {
        return Inputs{conv2d(v[0], v[1], v[2], {2, 1}, {1, 0}, {1, 2})};
      },
      {leaf({2, 3, 5, 5}), leaf({4, 3, 3, 2}), leaf({4})});
  check_gradients(
      [](const Inputs& v) { return Inputs{conv1d(v[0], v[1], std::nullopt, {1}, {2}, {1}, 2)}; },
      {leaf({2, 4, 5}), leaf({6, 2, 3})});
  check_gradients(
      [](const Inputs& v) { return Inputs{conv_transpose2d(v[0], v[1], v[2], {2}, {1}, {1}, 2)}; },
      {leaf({1, 4, 3, 3}), leaf({4, 1, 3, 3}), leaf({2})});
  check_gradients([](const Inputs& v) { return Inputs{conv3d(v[0], v[1])}; },
                  {leaf({1, 2, 3, 3, 3}), leaf({2, 2, 2, 2, 2})});
}

TEST(Convolution, DepthwiseAndFloat32AgreeWithDouble) {
  const Tensor x = randn({3, 16, 9, 9}), w = randn({16, 1, 3, 3});
  const Tensor got = conv2d(x, w, std::nullopt, {1}, {1}, {1}, 16);
  const Tensor want = conv2d(x.to(kDouble), w.to(kDouble), std::nullopt, {1}, {1}, {1}, 16);
  EXPECT_LT((got.to(kDouble) - want).abs().max().item<double>(), 1e-5);
}

// One image and few filters: computed in parts of the rows, which may be cut within the padding.
TEST(Convolution, RowsOfOneImageAgreeWithDouble) {
  struct Case {
    std::vector<int64_t> x, w;
    int64_t stride, pad, dilation;
  };
  const Case cases[] = {{{1, 16, 72, 55}, {16, 16, 13, 24}, 1, 0, 1},
                        {{1, 8, 130, 131}, {16, 8, 5, 5}, 1, 2, 2},
                        {{1, 16, 300, 97}, {16, 16, 7, 1}, 2, 3, 1},
                        {{1, 64, 112, 96}, {1, 64, 3, 3}, 1, 1, 1}};
  for (const Case& c : cases) {
    const Tensor x = randn(c.x), w = randn(c.w), b = randn({c.w[0]});
    const auto conv = [&](ScalarType t) {
      return conv2d(x.to(t), w.to(t), b.to(t), {c.stride}, {c.pad}, {c.dilation});
    };
    const Tensor got = conv(kFloat), want = conv(kDouble);
    EXPECT_LT(((got.to(kDouble) - want).abs().max() / want.abs().max()).item<double>(), 1e-5)
        << want.sizes();
    const int threads = get_num_threads();
    set_num_threads(1);
    EXPECT_TRUE(equal(conv(kFloat), got)) << want.sizes();
    set_num_threads(threads);
  }
}

TEST(Convolution, Texts) {
  EXPECT_TEXT(conv2d(ones({1, 3, 5, 5}), ones({4, 2, 3, 3})), "expected input channels 2");
  EXPECT_TEXT(conv2d(ones({1, 3, 5, 5}), ones({4, 2, 3, 3})), "groups=1");
  EXPECT_TEXT(conv2d(ones({1, 3, 5, 5}), ones({4, 3, 3, 3}), std::nullopt, {1}, {-1}),
              "negative padding");
  EXPECT_THROW(conv2d(ones({1, 3, 2, 2}), ones({4, 3, 3, 3})), ValueError);
  EXPECT_THROW(conv2d(ones({3, 3}), ones({4, 3, 3, 3})), ValueError);
}

TEST(Pooling, Gradients) {
  check_gradients([](const Inputs& v) { return Inputs{max_pool2d(v[0], {3}, {2}, {1})}; },
                  {leaf({2, 2, 6, 5})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{avg_pool2d(v[0], {3, 2}, {2}, {1, 0}, true, false)};
      },
      {leaf({2, 2, 6, 5})});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{adaptive_avg_pool2d(v[0], {2, 3})};
      },
      {leaf({2, 2, 5, 5})});
  check_gradients([](const Inputs& v) { return Inputs{max_pool1d(v[0], {2})}; }, {leaf({2, 2, 6})});
  EXPECT_TEXT(max_pool2d(ones({1, 1, 4, 4}), {2}, {2}, {-1}), "negative padding");
}

TEST(Windows, ListsAndSizesThatDoNotFit) {
  const Tensor x = ones({1, 1, 4, 4});
  const int64_t huge = int64_t{1} << 62;
  EXPECT_TEXT(max_pool2d(x, {}), "'kernel_size' needs 2 entries (or one for all), got 0");
  EXPECT_TEXT(max_pool2d(x, {2, 2, 2}), "'kernel_size' needs 2 entries");
  EXPECT_TEXT(avg_pool2d(x, {2}, {1, 1, 1}), "'stride' needs 2 entries");
  EXPECT_TEXT(im2col(x, {}, {1}, {0}, {1}), "'kernel_size' needs 2 entries");
  EXPECT_TEXT(col2im(ones({1, 4, 9}), {4, 4}, {2}, {}, {0}, {1}), "'dilation' needs 2 entries");
  EXPECT_TEXT(im2col(x, {3, 6148914691236517206}, {1}, {0, 3074457345618258600}, {1}), "too large");
  EXPECT_TEXT(max_pool2d(x, {2}, {huge}), "'stride' is too large");
  EXPECT_TEXT(conv2d(x, ones({1, 1, 2, 2}), std::nullopt, {1}, IntArrayRef(int64_t{0}), {huge}),
              "'dilation' is too large");
}

TEST(Norm, BatchNormGradients) {
  const auto train = [](const Inputs& v) {
    return Inputs{batch_norm(v[0], v[1], v[2], std::nullopt, std::nullopt, true, 0.1, 1e-3, false)};
  };
  check_gradients(train, {leaf({3, 2, 2, 2}), leaf({2}), leaf({2})});
  const Tensor mean = randn({2}, TensorOptions().dtype(kDouble)), var = mean * mean + 0.5;
  check_gradients(
      [&](const Inputs& v) {
        return Inputs{batch_norm(v[0], v[1], v[2], mean, var, false, 0.1, 1e-3, false)};
      },
      {leaf({3, 2, 4}), leaf({2}), leaf({2})});
}

TEST(Norm, BatchNormMovesItsStatistics) {
  Tensor mean = zeros({2}), var = ones({2});
  const Tensor x = tensor({1.f, 2.f, 3.f, 6.f}).reshape({2, 2});  // channels (1, 3) and (2, 6)
  batch_norm(x, std::nullopt, std::nullopt, mean, var, true, 0.5, 1e-5, false);
  EXPECT_FLOAT_EQ(mean[0].item<float>(), 1.0f);
  EXPECT_FLOAT_EQ(mean[1].item<float>(), 2.0f);
  EXPECT_FLOAT_EQ(var[0].item<float>(), 0.5f + 1.0f);
  EXPECT_FLOAT_EQ(var[1].item<float>(), 0.5f + 4.0f);
}

// The operators take what nn::functional refuses; saved programs may have such calls.
TEST(Norm, OneValuePerChannelBecomesTheBias) {
  const Tensor x = leaf({1, 3, 1}), weight = leaf({3}), bias = leaf({3});
  Tensor mean = zeros({3}, kDouble), var = ones({3}, kDouble);
  const Tensor y = batch_norm(x, weight, bias, mean, var, true, 0.5, 1e-5, false);
  EXPECT_TRUE(allclose(y, bias.reshape({1, 3, 1})));
  EXPECT_TRUE(allclose(mean, x.detach().reshape({3}) * 0.5));
  EXPECT_TRUE(isnan(var).all().item<bool>());
  const Tensor each = instance_norm(ones({2, 3, 1}, kDouble), weight, bias, std::nullopt,
                                    std::nullopt, true, 0.1, 1e-5, false);
  EXPECT_TRUE(allclose(each, bias.reshape({1, 3, 1}).expand({2, 3, 1})));
  y.sum().backward();
  EXPECT_TRUE(allclose(x.grad(), zeros_like(x), 1e-5, 1e-9));
}

TEST(Norm, BatchNormOfNothing) {
  for (const bool training : {true, false}) {
    Tensor mean = zeros({3}), var = ones({3});
    const Tensor x = leaf({0, 3, 2}), weight = leaf({3}), bias = leaf({3});
    const Tensor y = batch_norm(x, weight, bias, mean, var, training, 0.5, 1e-5, false);
    EXPECT_EQ(y.sizes(), x.sizes());
    y.mean().backward();
    EXPECT_TRUE(equal(weight.grad(), zeros_like(weight)));
    EXPECT_TRUE(equal(bias.grad(), zeros_like(bias)));
    EXPECT_TRUE(equal(mean, zeros({3})) && equal(var, ones({3})));
  }
}

TEST(Pool, FractionalTakesSamplesOfMoreImages) {
  const Tensor x = rand({2, 6, 6}), samples = rand({3, 2, 2});
  EXPECT_TRUE(
      equal(std::get<0>(fractional_max_pool2d(x, {2, 2}, {3, 3}, samples)),
            std::get<0>(fractional_max_pool2d(x, {2, 2}, {3, 3}, samples.narrow(0, 0, 1)))));
  EXPECT_TEXT(fractional_max_pool2d(x, {2, 2}, {3, 3}, rand({1, 3, 2})), "random samples");
}

// Two forwards before one backward: running statistics that moved in between are not needed.
TEST(Norm, BatchNormTwiceThenBackward) {
  Tensor mean = zeros({2}), var = ones({2});
  const Tensor x = leaf({4, 2}).detach().to(kFloat).set_requires_grad(true);
  const auto run = [&] {
    return batch_norm(x, std::nullopt, std::nullopt, mean, var, true, 0.1, 1e-5, false);
  };
  const Tensor first = run(), second = run();
  EXPECT_NO_THROW((first * second).sum().backward());
}

TEST(Norm, LayerAndGroupNormGradients) {
  check_gradients(
      [](const Inputs& v) {
        return Inputs{layer_norm(v[0], {3, 2}, v[1], v[2], 1e-3)};
      },
      {leaf({4, 3, 2}), leaf({3, 2}), leaf({3, 2})});
  check_gradients([](const Inputs& v) { return Inputs{group_norm(v[0], 2, v[1], v[2], 1e-3)}; },
                  {leaf({2, 4, 3}), leaf({4}), leaf({4})});
  check_gradients(
      [](const Inputs& v) {
        auto [out, mean, rstd] = native_group_norm(v[0], v[1], std::nullopt, 4, 3, 2, 1, 1e-3);
        return Inputs{out, mean, rstd};
      },
      {leaf({4, 3, 2}), leaf({3})});
}

// Statistics have no gradients, as in torch, where those of group_norm alone have.
TEST(Norm, StatisticsRecordNothing) {
  const Tensor x = leaf({4, 3});
  const auto [by_layer, mean, rstd] = native_layer_norm(x, {3}, std::nullopt, std::nullopt, 1e-3);
  EXPECT_TRUE(by_layer.requires_grad());
  EXPECT_FALSE(mean.requires_grad() || rstd.requires_grad());
  const auto [by_channel, channel_mean, channel_rstd] =
      native_batch_norm(x, std::nullopt, std::nullopt, std::nullopt, std::nullopt, true, 0.1, 1e-3);
  EXPECT_TRUE(by_channel.requires_grad());
  EXPECT_FALSE(channel_mean.requires_grad() || channel_rstd.requires_grad());
}

TEST(Norm, RmsNormGradients) {
  check_gradients(
      [](const Inputs& v) {
        return Inputs{rms_norm(v[0], {3, 2}, v[1], 1e-3)};
      },
      {leaf({4, 3, 2}), leaf({3, 2})});
  check_gradients([](const Inputs& v) { return Inputs{rms_norm(v[0], {5}, std::nullopt, 0.1)}; },
                  {leaf({2, 5})});
  check_gradients(
      [](const Inputs& v) {
        auto [out, rstd] = _fused_rms_norm(v[0], {3}, v[1], 1e-3);
        return Inputs{out, rstd};
      },
      {leaf({4, 3}), leaf({3})});
}

// A weight keeps its dtype, and so does its gradient; the second derivative, too.
TEST(Norm, RmsNormOfShortFloatsWithALongWeight) {
  const Tensor x = randn({6, 40}).to(kBFloat16).requires_grad_(), w = rand({40}).requires_grad_();
  const Tensor y = rms_norm(x, {40}, w);
  EXPECT_EQ(y.scalar_type(), kBFloat16);
  const Tensor wide = rms_norm(x.detach().to(kFloat), {40}, w.detach());
  EXPECT_TRUE(y.equal(wide.to(kBFloat16)));
  const auto first = autograd::grad({y.to(kFloat).square().sum()}, {x, w}, {}, true, true);
  EXPECT_EQ(first[0].scalar_type(), kBFloat16);
  EXPECT_EQ(first[1].scalar_type(), kFloat);
  const auto second = autograd::grad({first[1].sum()}, {x, w});
  EXPECT_EQ(second[0].scalar_type(), kBFloat16);
  EXPECT_EQ(second[1].scalar_type(), kFloat);
}

TEST(Norm, RmsNormRefuses) {
  EXPECT_TEXT(rms_norm(ones({2, 3}), {2}), "must be the last sizes of the input");
  EXPECT_TEXT(rms_norm(ones({2, 3}), {3}, ones({2})), "argument 'weight' must have shape [3]");
  EXPECT_TEXT(rms_norm(ones({2, 3}), {3}, ones({3}, kLong)), "must have a floating dtype");
}

TEST(Softmax, Gradients) {
  for (int64_t dim : {0, 1, -1}) {
    check_gradients([dim](const Inputs& v) { return Inputs{softmax(v[0], dim)}; },
                    {leaf({3, 4, 2})});
    check_gradients([dim](const Inputs& v) { return Inputs{log_softmax(v[0], dim)}; },
                    {leaf({3, 4, 2})});
  }
}

TEST(Loss, ClassesGradients) {
  const Tensor target = tensor({1, 0, 2, -100}, TensorOptions().dtype(kLong));
  const Tensor weight = tensor({0.5, 2.0, 1.5}, TensorOptions().dtype(kDouble));
  for (int64_t reduction : {0, 1, 2}) {
    check_gradients(
        [&](const Inputs& v) {
          return Inputs{cross_entropy_loss(v[0], target, weight, reduction)};
        },
        {leaf({4, 3})});
    check_gradients(
        [&](const Inputs& v) {
          return Inputs{cross_entropy_loss(v[0], target, weight, reduction, -100, 0.2)};
        },
        {leaf({4, 3})});
  }
  EXPECT_TEXT(nll_loss_nd(ones({3, 2}), target), "batch size");
  EXPECT_THROW(nll_loss_nd(ones({4, 2}), target), IndexError);
}

TEST(Loss, RegressionGradients) {
  const Tensor a = leaf({3, 2}), b = leaf({3, 2});
  check_gradients([](const Inputs& v) { return Inputs{mse_loss(v[0], v[1])}; }, {a, b});
  check_gradients([](const Inputs& v) { return Inputs{smooth_l1_loss(v[0], v[1], 2, 0.7)}; },
                  {a, b});
  check_gradients([](const Inputs& v) { return Inputs{huber_loss(v[0], v[1], 0, 0.6)}; }, {a, b});
  check_gradients(
      [](const Inputs& v) {
        return Inputs{binary_cross_entropy_with_logits(v[0], v[1].sigmoid())};
      },
      {a, b});
  check_gradients(
      [](const Inputs& v) { return Inputs{binary_cross_entropy(v[0].sigmoid(), v[1].sigmoid())}; },
      {a, b});
}

// Also without a reduction, in which a batch has none.
TEST(NllLoss, OneSampleComesWithItsWeight) {
  const Tensor x = tensor({-1., -2., -3.}), w = tensor({0.5, 1., 2.});
  for (const int64_t reduction : {0, 1, 2}) {
    const auto [loss, total] = nll_loss_forward(x, tensor(2), w, reduction, -100);
    EXPECT_EQ(loss.item<double>(), reduction == 1 ? 3 : 6);
    EXPECT_EQ(total.item<double>(), 2);
  }
  const auto [losses, none] = nll_loss_forward(x.unsqueeze(0), tensor({2}), w, 0, -100);
  EXPECT_EQ(losses.item<double>(), 6);
  EXPECT_EQ(none.item<double>(), 0);
}

TEST(Matmul, Gradients) {
  check_gradients([](const Inputs& v) { return Inputs{addmm(v[0], v[1], v[2], 0.5, 2)}; },
                  {leaf({4}), leaf({3, 2}), leaf({2, 4})});
  check_gradients([](const Inputs& v) { return Inputs{matmul(v[0], v[1])}; },
                  {leaf({2, 1, 3, 2}), leaf({3, 2, 4})});
  check_gradients([](const Inputs& v) { return Inputs{linear(v[0], v[1], v[2])}; },
                  {leaf({2, 3, 2}), leaf({4, 2}), leaf({4})});
  check_gradients([](const Inputs& v) { return Inputs{bilinear(v[0], v[1], v[2], v[3])}; },
                  {leaf({3, 2}), leaf({3, 4}), leaf({5, 2, 4}), leaf({5})});
}
