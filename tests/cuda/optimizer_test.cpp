// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fused optimizer steps on a device: as many tensors per launch as its arguments hold.
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaOptimizer = Cuda;

// n tensors of differing sizes with gradients, the same on every device.
std::vector<Tensor> parameters(int n, Device device, ScalarType dtype = kFloat) {
  std::vector<Tensor> out;
  manual_seed(4);
  for (int k = 0; k < n; ++k) {
    const int64_t size = k % 7 == 3 ? 9001 : 1 + 13 * k % 41;
    out.push_back(randn({size}).to(dtype).to(device).requires_grad_(true));
    out.back().mutable_grad() = randn({size}).to(dtype).to(device);
  }
  return out;
}

template <class Optimizer, class Options>
void expect_the_hosts(const Options& options) {
  const std::vector<Tensor> here = parameters(70, kCPU), there = parameters(70, kCUDA);
  Optimizer host(here, options), device(there, options);
  for (int i = 0; i < 2; ++i) {
    host.step();
    device.step();
  }
  for (std::size_t k = 0; k < here.size(); ++k) {
    EXPECT_TRUE(allclose(there[k].detach().cpu(), here[k].detach(), 1e-6, 1e-6)) << k;
  }
}

TEST_F(CudaOptimizer, StepsAreThoseOfTheHost) {
  expect_the_hosts<optim::Adam>(optim::AdamOptions(0.1).weight_decay(0.1).amsgrad(true));
  expect_the_hosts<optim::AdamW>(optim::AdamWOptions(0.1).weight_decay(0.1));
  expect_the_hosts<optim::SGD>(optim::SGDOptions(0.1));
  expect_the_hosts<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
}

TEST_F(CudaOptimizer, HalvesAndUnalignedTensors) {
  for (ScalarType dtype : {kHalf, kBFloat16, kDouble}) {
    const Tensor a = randn({40}).to(dtype), g = randn({40}).to(dtype);
    const auto step = [&](Device device) {
      const Tensor p = a.clone().to(device).slice(0, 1, 40), grad = g.to(device).slice(0, 1, 40);
      _fused_sgd_({p}, {grad}, {}, 0.1, 0, 0.5, 0, false, true, false);
      return p.cpu();
    };
    EXPECT_TRUE(allclose(step(kCUDA), step(kCPU), 1e-2, 1e-3)) << toString(dtype);
  }
}

// 56 tensors per launch: 70 need two, where ten ops per tensor needed 700.
TEST_F(CudaOptimizer, ManyTensorsTakeFewLaunches) {
  const std::vector<Tensor> params = parameters(70, kCUDA);
  optim::Adam adam(params, optim::AdamOptions(0.1));
  adam.step();  // makes the state
  core::synchronize(cuda_id());
  const int64_t before = tenon_fake_work();
  adam.step();
  EXPECT_EQ(tenon_fake_work() - before, 2);
}

TEST_F(CudaOptimizer, AStepOfSgdIsCaptured) {
  const std::vector<Tensor> captured = parameters(5, kCUDA), eager = parameters(5, kCUDA);
  const auto options = optim::SGDOptions(0.1).momentum(0.9);
  optim::SGD one(captured, options), other(eager, options);
  one.step();  // the first step makes the state
  Graph g;
  g.capture_begin();
  one.step();
  g.capture_end();
  other.step();
  for (int i = 0; i < 3; ++i) {
    g.replay();
    other.step();
  }
  for (std::size_t k = 0; k < eager.size(); ++k)
    EXPECT_TRUE(equal(captured[k].detach().cpu(), eager[k].detach().cpu()));
}

// The device counts: five replays are five steps of the host, whichever tensors there are.
TEST_F(CudaOptimizer, CapturedStepsOfAdamCount) {
  const auto expect_steps = [](auto options, auto* type) {
    using Optimizer = std::remove_pointer_t<decltype(type)>;
    const std::vector<Tensor> captured = parameters(70, kCUDA), here = parameters(70, kCPU);
    Optimizer host(here, options);
    Optimizer device(captured, options.capturable(true));
    device.step();  // makes the state
    Graph g;
    g.capture_begin();
    device.step();
    g.capture_end();
    for (int i = 0; i < 5; ++i) g.replay();
    for (int i = 0; i < 6; ++i) host.step();
    for (std::size_t k = 0; k < here.size(); ++k) {
      EXPECT_TRUE(allclose(captured[k].detach().cpu(), here[k].detach(), 1e-5, 1e-6)) << k;
    }
  };
  expect_steps(optim::AdamOptions(0.1).betas({0.8, 0.9}).amsgrad(true),
               static_cast<optim::Adam*>(nullptr));
  expect_steps(optim::AdamWOptions(0.1).betas({0.8, 0.9}), static_cast<optim::AdamW*>(nullptr));
}

// Steps that replays would compute wrongly are refused before anything is captured.
TEST_F(CudaOptimizer, StepsThatTheHostCountsAreNotCaptured) {
  const auto refused = [](optim::Optimizer& o, bool steps_before) {
    if (steps_before) o.step();
    Graph g;
    g.capture_begin();
    const std::string text = text_of<NotImplementedError>([&] { o.step(); });
    g.capture_end();
    return text;
  };
  const std::vector<Tensor> p = parameters(3, kCUDA);
  optim::Adam adam(p, optim::AdamOptions(0.1)), first(p, optim::AdamOptions(0.1).capturable(true));
  optim::RAdam radam(p, optim::RAdamOptions(0.1));
  optim::SGD momentum(p, optim::SGDOptions(0.1).momentum(0.9));
  expect_words(refused(adam, true),
               {"captured in a graph of cuda:0", "counted on the host", "capturable(true)"});
  expect_words(refused(first, false),
               {"captured in a graph of cuda:0", "take that before the capture"});
  expect_words(refused(radam, true), {"captured in a graph of cuda:0", "counted on the host"});
  expect_words(refused(momentum, false), {"take that before the capture"});
}

}  // namespace
}  // namespace tenon::test
