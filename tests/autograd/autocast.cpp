// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autocast.h"

#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/call.h"
#include "tenon/creation.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tenon/optim.h"
#include "tests/support.h"

namespace tenon {
namespace {

using autocast::AutocastGuard;
using test::expect_words;
using test::text_of;

TEST(Autocast, SettingsAreThoseOfTheGuard) {
  EXPECT_FALSE(autocast::is_autocast_enabled(kCPU));
  EXPECT_EQ(autocast::get_autocast_dtype(kCPU), kBFloat16);
  EXPECT_EQ(autocast::get_autocast_dtype(kCUDA), kHalf);
  {
    const AutocastGuard outer(kCPU, kHalf);
    EXPECT_TRUE(autocast::is_autocast_enabled(kCPU));
    EXPECT_FALSE(autocast::is_autocast_enabled(kCUDA));
    EXPECT_EQ(autocast::get_autocast_dtype(kCPU), kHalf);
    const AutocastGuard off(kCPU, std::nullopt, false);
    EXPECT_FALSE(autocast::is_autocast_enabled(kCPU));
  }
  EXPECT_EQ(autocast::get_autocast_dtype(kCPU), kBFloat16);
  autocast::set_autocast_enabled(kCPU, true);
  EXPECT_TRUE(autocast::is_autocast_enabled(kCPU));
  autocast::set_autocast_enabled(kCPU, false);
  EXPECT_THROW(autocast::set_autocast_dtype(kCPU, kInt), TypeError);
}

TEST(Autocast, CastsByTheOperatorsPolicy) {
  const Tensor a = randn({4, 4}), h = a.to(kBFloat16), d = a.to(kDouble);
  const AutocastGuard mixed(kCPU);
  EXPECT_EQ(a.mm(a).scalar_type(), kBFloat16);                       // lower_precision_fp
  EXPECT_EQ(matmul(a, h).scalar_type(), kBFloat16);                  // mixed arguments
  EXPECT_EQ(linear(a, a, a.select(0, 0)).scalar_type(), kBFloat16);  // an optional one
  EXPECT_EQ(mse_loss(h, h).scalar_type(), kFloat);                   // fp32
  EXPECT_EQ(cat({a, h}).scalar_type(), kFloat);                      // promote
  EXPECT_EQ(cat({h, h}).scalar_type(), kBFloat16);
  EXPECT_EQ((h * h).scalar_type(), kBFloat16);  // none
  EXPECT_EQ(h.exp().scalar_type(), kBFloat16);  // of other devices alone
  EXPECT_EQ(d.mm(d).scalar_type(), kDouble);    // float64 is left alone
  EXPECT_EQ(arange(4).reshape({2, 2}).mm(arange(4).reshape({2, 2})).scalar_type(), kLong);
  EXPECT_EQ(call("mm", {a, a})[0].scalar_type(), kBFloat16);  // by name
  Tensor out = empty({4, 4});
  EXPECT_EQ(mm_out(out, a, a).scalar_type(), kFloat);  // out= is not changed
  const AutocastGuard off(kCPU, std::nullopt, false);
  EXPECT_EQ(a.mm(a).scalar_type(), kFloat);
}

TEST(Autocast, HasTheValuesOfCastsByHand) {
  manual_seed(1);
  const Tensor a = randn({8, 8}), b = randn({8, 8});
  const Tensor by_hand = a.to(kBFloat16).mm(b.to(kBFloat16));
  const AutocastGuard mixed(kCPU);
  EXPECT_TRUE(equal(a.mm(b), by_hand));
}

TEST(Autocast, GradientsHaveTheDtypesOfTheLeaves) {
  manual_seed(2);
  const Tensor w = randn({4, 4}).requires_grad_(), x = randn({4, 4});
  Tensor loss;
  {
    const AutocastGuard mixed(kCPU);
    loss = mse_loss(x.mm(w), x);
  }
  EXPECT_EQ(loss.scalar_type(), kFloat);
  loss.backward();
  EXPECT_EQ(w.grad().scalar_type(), kFloat);
  const Tensor plain = w.detach().clone().requires_grad_();
  mse_loss(x.mm(plain), x).backward();
  EXPECT_TRUE(allclose(w.grad(), plain.grad(), 0.05, 0.05));
}

TEST(Autocast, CastsAWeightOnce) {
  const Tensor w = randn({4, 4}).requires_grad_(), x = randn({4, 4});
  const auto casts = [&] { return w.use_count(); };
  {
    const AutocastGuard mixed(kCPU);
    const Tensor y = x.mm(w), z = x.mm(w);
    EXPECT_EQ(y.grad_fn()->next_edge(1).function.get(), z.grad_fn()->next_edge(1).function.get());
    {
      const NoGradGuard no_grad;
      w.fill_(2);
    }
    EXPECT_EQ(x.mm(w).select(0, 0).select(0, 0).item<float>(),
              (x.to(kBFloat16).sum({1}) * 2).select(0, 0).item<float>());
    EXPECT_GT(casts(), 1u);
  }
  EXPECT_EQ(casts(), 1u);  // the cache went with the guard
  const AutocastGuard without(kCPU, std::nullopt, true, /*cache_enabled=*/false);
  const Tensor y = x.mm(w), z = x.mm(w);
  EXPECT_NE(y.grad_fn()->next_edge(1).function.get(), z.grad_fn()->next_edge(1).function.get());
}

// What was cast without a recording is of no use to a recorded call.
TEST(Autocast, CastsAgainForARecording) {
  const Tensor w = randn({4, 4}).requires_grad_(), x = randn({4, 4});
  const AutocastGuard mixed(kCPU);
  {
    const NoGradGuard no_grad;
    x.mm(w);
  }
  x.mm(w).sum().backward();
  EXPECT_TRUE(w.grad().defined());
}

// The reference device stands for any: its operators have the policies of CUDA's.
TEST(Autocast, OfAnotherDeviceLeavesTheHostAlone) {
  const Device ref("ref");
  const Tensor a = rand({4, 4}), there = a.to(ref), p = there.to(kHalf);
  const AutocastGuard mixed(ref.type());
  EXPECT_EQ(a.mm(a).scalar_type(), kFloat);
  EXPECT_EQ(there.mm(there).scalar_type(), kHalf);
  EXPECT_EQ(p.exp().scalar_type(), kFloat);
  EXPECT_EQ(p.softmax(0).scalar_type(), kFloat);
  EXPECT_EQ(cat({p, there}).scalar_type(), kFloat);  // promoted by the operator itself
  EXPECT_EQ(p.reshape({16}).dot(there.reshape({16})).scalar_type(), kFloat);
  expect_words(text_of<TypeError>([&] { binary_cross_entropy(p, there); }),
               {"binary_cross_entropy", "autocast", "with_logits"});
  EXPECT_TRUE(autocast::is_autocast_enabled(ref.type()));  // also after the refusal
}

TEST(Autocast, TrainsANetwork) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(2, 16), nn::Tanh(), nn::Linear(16, 1));
  optim::Adam adam(net->parameters(), optim::AdamOptions(0.05));
  const Tensor x = tensor({{0.f, 0.f}, {0.f, 1.f}, {1.f, 0.f}, {1.f, 1.f}});
  const Tensor y = tensor({{0.f}, {1.f}, {1.f}, {0.f}});
  float loss = 1;
  for (int i = 0; i < 200; ++i) {
    adam.zero_grad();
    Tensor error;
    {
      const AutocastGuard mixed(kCPU);
      error = binary_cross_entropy_with_logits(net->forward(x), y);
    }
    error.backward();
    adam.step();
    loss = error.item<float>();
  }
  EXPECT_LT(loss, 0.05);
}

}  // namespace
}  // namespace tenon
