// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Unpooling, fractional pooling, windows of images and losses of sequences and many classes,
// against each other and against values of torch 2.15 in double precision.
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/gradients.h"
#include "tests/nn/support.h"

using namespace tenon;
using test::check_gradients;
using test::Inputs;
using test::leaf;
namespace F = nn::functional;

namespace {

Tensor steps(int64_t n) { return arange(n, TensorOptions().dtype(kDouble)); }
Tensor doubles(std::vector<double> v) { return tensor(v, TensorOptions().dtype(kDouble)); }

}  // namespace

TEST(Unpooling, PutsMaximaBack) {
  const Tensor x = randn({2, 3, 8, 8});
  nn::MaxPool2d pool(nn::MaxPool2dOptions(2));
  nn::MaxUnpool2d unpool(nn::MaxUnpool2dOptions(2));
  Tensor y, where;
  std::tie(y, where) = pool->forward_with_indices(x);
  const Tensor back = unpool(y, where);
  EXPECT_EQ(back.sizes(), x.sizes());
  EXPECT_TRUE(equal(back, x * (back != 0)));
  EXPECT_EQ((back != 0).sum().item<int64_t>(), y.numel());
  EXPECT_EQ(unpool(y, where, std::vector<int64_t>{9, 8}).sizes(), IntArrayRef({2, 3, 9, 8}));
  EXPECT_TEXT(unpool(y, where, std::vector<int64_t>{11, 8}), "must be between 6 and 10");
  EXPECT_EQ(test::printed(nn::MaxUnpool1d(3)),
            "tenon::nn::MaxUnpool1d(kernel_size=3, stride=3, padding=0)");
  const Tensor line = F::max_unpool1d(tensor({2., 4.}).view({1, 1, 2}),
                                      tensor({1, 2}).view({1, 1, 2}), F::MaxUnpool1dFuncOptions(2));
  EXPECT_TRUE(equal(line.flatten(), tensor({0., 2., 4., 0.})));
}

TEST(Unpooling, FractionalPooling) {
  const Tensor x = steps(36).cos().view({1, 1, 6, 6});
  const std::vector<double> half{0.5, 0.5};
  nn::FractionalMaxPool2d pool(nn::FractionalMaxPool2dOptions(2).output_ratio(half)._random_samples(
      doubles({0.3, 0.6}).view({1, 1, 2})));
  const auto [y, where] = pool->forward_with_indices(x);
  EXPECT_TRUE(equal(where.flatten(), tensor({0, 8, 5, 19, 20, 17, 25, 32, 29})));
  EXPECT_TRUE(equal(y.flatten(), x.flatten().index_select(0, where.flatten())));
  nn::FractionalMaxPool3d drawn(nn::FractionalMaxPool3dOptions(2).output_size(2));
  EXPECT_EQ(drawn(randn({2, 5, 5, 5})).sizes(), IntArrayRef({2, 2, 2, 2}));
  EXPECT_TEXT(nn::FractionalMaxPool2d(2), "either an output size, or a pooling ratio");
}

TEST(Unpooling, FoldSumsTheWindowsOfUnfold) {
  const auto windows = nn::UnfoldOptions({2, 3}).padding(1).stride({1, 2});
  nn::Unfold unfold(windows);
  nn::Fold fold(nn::FoldOptions({4, 5}, {2, 3}).padding(1).stride({1, 2}));
  const Tensor x = randn({2, 3, 4, 5});
  const Tensor counts = fold(unfold(ones_like(x)));
  EXPECT_TRUE(allclose(fold(unfold(x)), x * counts, 1e-5, 1e-6));
  EXPECT_TEXT(unfold(randn({1, 2, 3})), "Only 4D input Tensors are supported (got 3D)");
  EXPECT_TEXT(unfold(randn({1, 2, 3, 0})), "which is too small (non-positive)");
  check_gradients([&](const Inputs& in) { return Inputs{unfold(in[0])}; }, {leaf({1, 1, 2, 3})});
}

// torch 2.15 sums the squares of channels too many from the third channel on, and its gradient is
// not that of its values: values are compared for two channels, gradients with differences, and
// more channels with LocalResponseNorm of an odd size.
TEST(Unpooling, CrossMapNormalization) {
  nn::CrossMapLRN2d norm(nn::CrossMapLRN2dOptions(3).alpha(0.5).k(2));
  EXPECT_TRUE(allclose(norm(steps(8).cos().view({1, 2, 2, 2})).flatten(),
                       doubles({0.5465414843, 0.3139858208, -0.2317545623, -0.5374375923,
                                -0.3572433547, 0.1648445753, 0.5347243448, 0.4092711953}),
                       1e-8, 1e-9));
  check_gradients([&](const Inputs& in) { return Inputs{norm(in[0])}; }, {leaf({1, 4, 1, 2})});
  const Tensor more = randn({2, 7, 3, 3});
  nn::LocalResponseNorm local(nn::LocalResponseNormOptions(5).alpha(0.5).k(2));
  for (const int64_t size : {5, 6})  // an even size takes one channel fewer
    EXPECT_TRUE(allclose(
        nn::CrossMapLRN2d(
            nn::CrossMapLRN2dOptions(size).alpha(0.1 * static_cast<double>(size)).k(2))(more),
        local(more), 1e-5, 1e-6));
}

TEST(Losses, AdaptiveLogSoftmax) {
  nn::AdaptiveLogSoftmaxWithLoss loss(
      nn::AdaptiveLogSoftmaxWithLossOptions(8, 6, {2, 4}).div_value(2.).head_bias(true));
  loss->to(kDouble);
  {
    NoGradGuard no_grad;
    for (const Tensor& p : loss->parameters())
      p.copy_((steps(p.numel()) * 0.7 + p.numel()).sin().mul(0.5).view(p.sizes()));
  }
  const Tensor x = (steps(32) * 0.4).cos().view({4, 8}), target = tensor({0, 3, 5, 1});
  const auto out = loss(x, target);
  EXPECT_TRUE(allclose(out.output.detach(),
                       doubles({-0.6014686064, -1.896634481, -4.247399212, -3.19310002}), 1e-8,
                       1e-9));
  EXPECT_NEAR(out.loss, 2.4846505798678287, 1e-9);
  EXPECT_TRUE(equal(loss->predict(x), tensor({0, 5, 0, 5})));
  EXPECT_TRUE(allclose(loss->log_prob(x).exp().sum(1).detach(), ones({4}, kDouble)));
  EXPECT_TRUE(loss->named_parameters().contains("tail.1.0.weight"));
  EXPECT_TEXT(loss(x, tensor({0, 3, 6, 1})), "Target values should be in [0, 5]");
  EXPECT_TEXT(nn::AdaptiveLogSoftmaxWithLoss(8, 6, std::vector<int64_t>{4, 2}),
              "sorted in an increasing order");
}

TEST(Losses, SequencesAndDistances) {
  const Tensor log_probs = steps(40).cos().view({5, 2, 4}).log_softmax(2);
  nn::CTCLoss ctc(nn::CTCLossOptions().reduction(kNone));
  const Tensor targets = tensor({1, 2, 3, 3}).view({2, 2});
  EXPECT_TRUE(allclose(ctc(log_probs, targets, tensor({5, 4}), tensor({2, 2})),
                       doubles({3.19272404, 2.91145300}), 1e-7, 1e-8));
  EXPECT_TEXT(ctc(log_probs, targets, tensor({5., 4.}), tensor({2, 2})),
              "input_lengths must be integral");
  EXPECT_TEXT(ctc(log_probs, targets, tensor({5, 4}), tensor({2, 3})),
              "Expected tensor to have size at least 3 at dimension 1");

  const Tensor a = randn({4, 5}), p = randn({4, 5}), n = randn({4, 5});
  nn::TripletMarginLoss usual(nn::TripletMarginLossOptions().swap(true));
  nn::TripletMarginWithDistanceLoss same(nn::TripletMarginWithDistanceLossOptions().swap(true));
  EXPECT_TRUE(allclose(same(a, p, n), usual(a, p, n)));
  nn::TripletMarginWithDistanceLoss one(
      nn::TripletMarginWithDistanceLossOptions().margin(2).reduction(kSum).distance_function(
          [](const Tensor& x, const Tensor& y) { return (x - y).abs().sum(1); }));
  const Tensor wanted = ((a - p).abs().sum(1) - (a - n).abs().sum(1) + 2).clamp_min(0).sum();
  EXPECT_TRUE(allclose(one(a, p, n), wanted));
  EXPECT_TRUE(allclose(F::smooth_l1_loss(a, p, kSum, 0.5),
                       F::smooth_l1_loss(a, p, F::SmoothL1LossFuncOptions(kSum).beta(0.5))));
}
