// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/optim/grad_scaler.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tests/support.h"

namespace tenon {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;
using test::expect_words;
using test::text_of;

struct Training {
  Tensor w = full({3}, 2.).requires_grad_();
  optim::SGD sgd{std::vector<Tensor>{w}, optim::SGDOptions(0.5)};
  Tensor loss() { return (w * w).sum(); }
};

TEST(GradScaler, LeavesTheStepAsItIs) {
  Training plain, scaled;
  plain.loss().backward();
  plain.sgd.step();
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  const Tensor loss = scaler.scale(scaled.loss());
  EXPECT_EQ(loss.item<float>(), 12 * 1024);
  loss.backward();
  EXPECT_EQ(scaled.w.grad().select(0, 0).item<float>(), 4 * 1024);
  EXPECT_TRUE(scaler.step(scaled.sgd));
  scaler.update();
  EXPECT_TRUE(equal(scaled.w, plain.w));
  EXPECT_TRUE(equal(scaled.w.grad(), plain.w.grad()));
}

TEST(GradScaler, LeavesOutAStepThatIsNotFiniteAndShrinks) {
  Training t;
  GradScaler scaler(GradScalerOptions().init_scale(1024));
  scaler.scale(t.loss()).backward();
  t.w.mutable_grad().select(0, 1).fill_(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(scaler.step(t.sgd));
  scaler.update();
  EXPECT_TRUE(equal(t.w.detach(), full({3}, 2.)));
  EXPECT_EQ(scaler.get_scale(), 512);
  EXPECT_EQ(scaler.state_dict().growth_tracker, 0);
}

TEST(GradScaler, GrowsAfterItsInterval) {
  Training t;
  GradScaler scaler(GradScalerOptions().init_scale(8).growth_interval(3).growth_factor(4));
  std::vector<double> scales;
  for (int i = 0; i < 6; ++i) {
    t.sgd.zero_grad();
    scaler.scale(t.loss()).backward();
    scaler.step(t.sgd);
    scaler.update();
    scales.push_back(scaler.get_scale());
  }
  EXPECT_EQ(scales, (std::vector<double>{8, 8, 32, 32, 32, 128}));
}

TEST(GradScaler, UnscalesOnceForClipping) {
  Training t;
  GradScaler scaler;
  scaler.scale(t.loss()).backward();
  scaler.unscale_(t.sgd);
  EXPECT_EQ(t.w.grad().select(0, 0).item<float>(), 4);
  expect_words(text_of([&] { scaler.unscale_(t.sgd); }), {"already been called"});
  scaler.step(t.sgd);
  expect_words(text_of([&] { scaler.unscale_(t.sgd); }), {"after step()"});
  expect_words(text_of([&] { scaler.step(t.sgd); }), {"already been called"});
  scaler.update();
  EXPECT_EQ(t.w.select(0, 0).item<float>(), 0);
  expect_words(text_of([&] { scaler.update(); }), {"No inf checks"});
  scaler.update(16);
  EXPECT_EQ(scaler.get_scale(), 16);
}

TEST(GradScaler, JudgesOptimizersTogether) {
  Training good, bad;
  GradScaler scaler(GradScalerOptions().init_scale(4));
  (scaler.scale(good.loss()) + scaler.scale(bad.loss())).backward();
  bad.w.mutable_grad().fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(scaler.step(good.sgd));
  EXPECT_FALSE(scaler.step(bad.sgd));
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 2);
}

TEST(GradScaler, ContinuesFromItsState) {
  Training t;
  GradScaler first(GradScalerOptions().init_scale(8).growth_interval(2));
  first.scale(t.loss()).backward();
  first.step(t.sgd);
  first.update();
  GradScaler second;
  second.load_state_dict(first.state_dict());
  EXPECT_EQ(second.get_scale(), 8);
  t.sgd.zero_grad();
  second.scale(t.loss()).backward();
  second.step(t.sgd);
  second.update();
  EXPECT_EQ(second.get_scale(), 16);  // the second finite step of two
}

TEST(GradScaler, DoesNothingIfItIsNotEnabled) {
  Training t;
  GradScaler scaler(GradScalerOptions().enabled(false));
  const Tensor loss = t.loss();
  EXPECT_TRUE(scaler.scale(loss).is_same(loss));
  loss.backward();
  scaler.unscale_(t.sgd);
  EXPECT_TRUE(scaler.step(t.sgd));
  scaler.update();
  EXPECT_EQ(scaler.get_scale(), 1);
  EXPECT_EQ(t.w.select(0, 0).item<float>(), 0);
}

TEST(GradScaler, RefusesWhatItCannotDo) {
  EXPECT_THROW(GradScaler(GradScalerOptions().growth_factor(1)), ValueError);
  EXPECT_THROW(GradScaler(GradScalerOptions().backoff_factor(1)), ValueError);
  Training t;
  GradScaler scaler;
  expect_words(text_of([&] { scaler.step(t.sgd); }), {"no scale yet"});
  scaler.scale(t.loss());
  expect_words(text_of([&] { scaler.step(t.sgd); }), {"has a gradient"});
  const Tensor h = ones({2}, TensorOptions(kHalf)).requires_grad_();
  optim::SGD sgd(std::vector<Tensor>{h}, optim::SGDOptions(0.1));
  h.sum().backward();
  expect_words(text_of<TypeError>([&] { scaler.unscale_(sgd); }), {"FP16 gradients"});
  EXPECT_EQ(h.grad().select(0, 0).item<float>(), 1);
}

}  // namespace
}  // namespace tenon
