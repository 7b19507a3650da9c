// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/checkpoint.h"

#include <gtest/gtest.h>

#include "tenon/autocast.h"
#include "tenon/creation.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/runtime/allocator.h"
#include "tenon/runtime/device.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;
using utils::checkpoint;
using utils::checkpoint_sequential;

nn::Sequential make_network(int layers, int64_t width) {
  nn::Sequential net;
  for (int i = 0; i < layers; ++i) {
    net->push_back(nn::Linear(width, width));
    net->push_back(nn::Dropout(0.25));
    net->push_back(nn::Tanh());
  }
  return net;
}

std::vector<Tensor> gradients_of(nn::Sequential& net, const Tensor& x) {
  std::vector<Tensor> out = {x.grad()};
  for (const Tensor& p : net->parameters()) out.push_back(p.grad().clone());
  net->zero_grad();
  x.mutable_grad().reset();
  return out;
}

TEST(Checkpoint, HasTheBitsOfTheUsualPassWithDropout) {
  manual_seed(1);
  nn::Sequential net = make_network(6, 16);
  const Tensor x = randn({5, 16}).requires_grad_();
  manual_seed(7);
  const Tensor usual = net->forward(x);
  const Tensor after = rand({3});
  usual.sum().backward();
  const std::vector<Tensor> wanted = gradients_of(net, x);
  for (int64_t segments : {1, 2, 5}) {
    manual_seed(7);
    const Tensor y = checkpoint_sequential(net, segments, x);
    EXPECT_TRUE(equal(y, usual));
    EXPECT_TRUE(equal(rand({3}), after));  // as many numbers were drawn
    const Tensor next = [&] {
      const Generator g = default_generator();
      return g.get_state();
    }();
    y.sum().backward();
    EXPECT_TRUE(equal(default_generator().get_state(), next));  // the second run draws none
    const std::vector<Tensor> got = gradients_of(net, x);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(equal(got[i], wanted[i])) << i;
  }
}

// Bytes that a forward pass leaves in use.
template <class F>
uint64_t kept_by(F&& forward) {
  const core::DeviceId host = core::device_id(Device(kCPU));
  const uint64_t before = core::memory_stats(host).allocated;
  const Tensor y = forward();
  return core::memory_stats(host).allocated - before;
}

TEST(Checkpoint, KeepsAFractionOfTheMemory) {
  nn::Sequential net = make_network(64, 64);
  const Tensor x = randn({256, 64}).requires_grad_();
  const uint64_t usual = kept_by([&] { return net->forward(x); });
  const uint64_t less = kept_by([&] { return checkpoint_sequential(net, 8, x); });
  EXPECT_LT(4 * less, usual);
}

TEST(Checkpoint, TakesAndGivesSeveralTensors) {
  const Tensor a = full({2}, 3.).requires_grad_(), b = full({2}, 5.),
               c = ones({2}).requires_grad_();
  int runs = 0;
  const auto f = [&](const std::vector<Tensor>& in) {
    ++runs;
    return std::vector<Tensor>{in[0] * in[1] * c, in[0] + in[2]};
  };
  const auto out = checkpoint(f, {a, b, c});
  EXPECT_EQ(runs, 1);
  (out[0] + 2 * out[1]).sum().backward();
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(equal(a.grad(), full({2}, 7.)));
  EXPECT_TRUE(equal(c.grad(), full({2}, 17.)));  // by the argument and by the function's own
  EXPECT_FALSE(b.grad().defined());
}

TEST(Checkpoint, NestsAndRunsAgainWithARetainedGraph) {
  const Tensor x = full({2}, 2.).requires_grad_();
  const auto square = [](const Tensor& t) { return t * t; };
  const auto fourth = [&](const Tensor& t) { return checkpoint(square, checkpoint(square, t)); };
  const Tensor y = checkpoint(fourth, x);
  y.sum().backward({}, /*retain_graph=*/true);
  y.sum().backward();
  EXPECT_TRUE(equal(x.grad(), full({2}, 64.)));
  EXPECT_THROW(y.sum().backward(), Error);  // released
}

TEST(Checkpoint, HasTheAutocastOfItsFirstRun) {
  const Tensor w = randn({4, 4}).requires_grad_(), x = randn({4, 4}).requires_grad_();
  std::vector<ScalarType> seen;
  const auto f = [&](const Tensor& t) {
    const Tensor y = t.mm(w);
    seen.push_back(y.scalar_type());
    return y;
  };
  Tensor y;
  {
    const autocast::AutocastGuard mixed(kCPU);
    y = checkpoint(f, x);
  }
  y.sum().backward();
  EXPECT_EQ(seen, (std::vector<ScalarType>{kBFloat16, kBFloat16}));
  EXPECT_EQ(x.grad().scalar_type(), kFloat);
  EXPECT_FALSE(autocast::is_autocast_enabled(kCPU));
}

TEST(Checkpoint, RefusesPassesThatItCannotServe) {
  const Tensor x = ones({2}).requires_grad_();
  const auto f = [](const Tensor& t) { return t * t; };
  expect_words(text_of([&] { autograd::grad({checkpoint(f, x).sum()}, {x}); }),
               {"checkpoint", "backward() alone"});
  expect_words(text_of([&] { checkpoint(f, x).sum().backward({}, true, true); }),
               {"checkpoint", "create_graph"});
  EXPECT_FALSE(x.grad().defined());
  const Tensor y = checkpoint(f, x);
  x.detach().zero_();
  expect_words(text_of([&] { y.sum().backward(); }), {"modified by an inplace operation"});
  EXPECT_THROW(checkpoint_sequential({f}, 2, x), ValueError);
  EXPECT_THROW(checkpoint_sequential({f}, 0, x), ValueError);
}

TEST(Checkpoint, RunsOnceWhereNothingIsRecorded) {
  int runs = 0;
  const auto f = [&](const Tensor& t) {
    ++runs;
    return t * 2;
  };
  const NoGradGuard no_grad;
  EXPECT_FALSE(checkpoint(f, ones({2}).requires_grad_()).requires_grad());
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace tenon
