// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// nn::parallel on the host, as several devices.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "tenon/autograd.h"
#include "tenon/nn.h"
#include "tenon/ops.h"
#include "tests/nn/support.h"
#include "tests/support.h"

namespace tenon {
namespace {

using nn::parallel::data_parallel;
using nn::parallel::parallel_apply;
using nn::parallel::replicate;

TEST(Parallel, ReplicasHaveTheirOwnMemory) {
  nn::Sequential net(nn::Linear(3, 4), nn::BatchNorm1d(4));
  const auto replicas = replicate(net, test::cpus(3));
  ASSERT_EQ(replicas.size(), 3u);
  const auto original = net->parameters();
  for (const auto& r : replicas) {
    const auto copy = r->parameters();
    ASSERT_EQ(copy.size(), original.size());
    for (std::size_t i = 0; i < copy.size(); ++i) {
      EXPECT_TRUE(copy[i].equal(original[i]));
      EXPECT_NE(copy[i].data_ptr(), original[i].data_ptr());
    }
  }
}

TEST(Parallel, GradientsOfReplicasAddUp) {
  nn::Linear fc(3, 2);
  fc->bias.set_requires_grad(false);
  auto replicas = replicate(fc, test::cpus(2));
  const Tensor x = rand({4, 3}), y = rand({5, 3});
  (replicas[0](x).sum() + replicas[1](y).pow(2).sum()).backward();
  const Tensor weight = fc->weight.detach().clone().requires_grad_();
  (linear(x, weight, fc->bias).sum() + linear(y, weight, fc->bias).pow(2).sum()).backward();
  EXPECT_TRUE(allclose(fc->weight.grad(), weight.grad()));
  EXPECT_FALSE(fc->bias.grad().defined());
}

TEST(Parallel, AnEqualStepOnTwelveDevices) {
  struct NetImpl : nn::Cloneable<NetImpl> {
    NetImpl() { reset(); }
    void reset() override {
      first = register_module("first", nn::Linear(5, 7));
      second = register_module("second", nn::utils::weight_norm(nn::Linear(7, 2)));
    }
    Tensor forward(const Tensor& x) { return second(first(x).tanh()); }
    nn::Linear first{nullptr}, second{nullptr};
  };
  auto net = std::make_shared<NetImpl>();
  const Tensor x = rand({25, 5}, requires_grad());
  const auto gradients = [&](const Tensor& y) {
    auto inputs = net->parameters();
    inputs.push_back(x);
    return autograd::grad({y.pow(2).sum()}, inputs);
  };
  const Tensor one = net->forward(x), many = data_parallel(net, x, test::cpus(12));
  EXPECT_TRUE(allclose(one, many));
  const auto expected = gradients(one), got = gradients(many);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(allclose(got[i], expected[i], 1e-4, 1e-5)) << i;
}

TEST(Parallel, SmallBatchesAndOtherDimensions) {
  nn::Linear fc(3, 2);
  EXPECT_EQ(data_parallel(fc, rand({2, 3}), test::cpus(5)).sizes(), IntArrayRef({2, 2}));
  nn::ReLU relu;
  const Tensor x = randn({3, 8});
  EXPECT_TRUE(data_parallel(relu, x, test::cpus(4), std::nullopt, /*dim=*/1).equal(x.relu()));
}

TEST(Parallel, ScalarsAreJoinedToAVector) {
  struct Count : nn::Cloneable<Count> {
    void reset() override {}
    Tensor forward(const Tensor& x) { return x.sum(); }
  };
  EXPECT_TRUE(
      data_parallel(std::make_shared<Count>(), ones({6, 2}), test::cpus(3)).equal(full({3}, 4.)));
}

TEST(Parallel, EachRunsOnAThreadWithTheCallersModes) {
  struct Watch : nn::Module {
    Tensor forward(const Tensor& x) {
      const std::lock_guard<std::mutex> lock(mutex);
      threads.insert(std::this_thread::get_id());
      recording |= GradMode::is_enabled();
      return x;
    }
    std::mutex mutex;
    std::set<std::thread::id> threads;
    bool recording = false;
  };
  auto watch = std::make_shared<Watch>();
  std::vector<std::shared_ptr<Watch>> modules(3, watch);
  NoGradGuard no_grad;
  parallel_apply(modules, {ones({1}), ones({1}), ones({1})});
  EXPECT_EQ(watch->threads.size(), 3u);
  EXPECT_FALSE(watch->recording);
}

TEST(Parallel, Errors) {
  struct Bad : nn::Cloneable<Bad> {
    void reset() override {}
    Tensor forward(const Tensor&) { throw std::runtime_error("Badness!"); }
  };
  auto bad = std::make_shared<Bad>();
  EXPECT_THROW(data_parallel(bad, ones({10, 3}), test::cpus(2)), std::runtime_error);
  std::vector<nn::Linear> modules(2, nn::Linear(1, 1));
  EXPECT_TEXT(parallel_apply(modules, {ones({1, 1})}), "Must have as many inputs as modules");
  EXPECT_TEXT(parallel_apply(modules, {ones({1, 1}), ones({1, 1})}, test::cpus(1)),
              "Must have as many devices as modules");
  EXPECT_TEXT(data_parallel(nn::Linear(1, 1), ones({1, 1}), test::cpus(0)), "at least one device");
}

TEST(Scatter, PiecesAndBack) {
  const Tensor x = arange(10, kFloat).requires_grad_();
  const auto pieces = autograd::Scatter(test::cpus(2), std::vector<int64_t>{3, 7}).apply({x});
  EXPECT_EQ(pieces[1].numel(), 7);
  const Tensor back = autograd::Gather(kCPU).apply({pieces[0] * 2, pieces[1]}).front();
  back.sum().backward();
  EXPECT_TRUE(x.grad().equal(cat({full({3}, 2.), ones({7})})));
  EXPECT_TEXT(autograd::Scatter(test::cpus(2), std::vector<int64_t>{10}), "1 sizes for 2 devices");
  EXPECT_TEXT(autograd::Scatter({}), "at least one device");
}

}  // namespace
}  // namespace tenon
