// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sample 31: the norm of all weight gradients of a ResNet-18 as a loss. The source leaves out its
// last lines: backward and step.
#include <cmath>

#include "tests/samples/support.h"

namespace tenon::samples {
namespace {

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BlockImpl : nn::Module {
  nn::Sequential body{nullptr}, skip{nullptr};
  BlockImpl(int64_t in, int64_t out, int64_t stride) {
    body = register_module(
        "body", nn::Sequential(conv(in, out, 3, stride), nn::BatchNorm2d(out), nn::ReLU(),
                               conv(out, out, 3, 1), nn::BatchNorm2d(out)));
    if (stride != 1 || in != out) {
      skip =
          register_module("skip", nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out)));
    }
  }
  Tensor forward(const Tensor& x) {
    return (body->forward(x) + (skip ? skip->forward(x) : x)).relu();
  }
};
TENON_MODULE(Block);

nn::Sequential resnet18(int64_t width, int64_t classes) {
  nn::Sequential net(conv(3, width, 7, 2), nn::BatchNorm2d(width), nn::ReLU(),
                     nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t in = width;
  for (int64_t k = 0; k < 4; ++k) {
    const int64_t out = width << k;
    net->push_back(Block(in, out, k == 0 ? 1 : 2));
    net->push_back(Block(out, out, 1));
    in = out;
  }
  net->push_back(nn::AdaptiveAvgPool2d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(in, classes));
  return net;
}

struct Program {
  nn::Sequential net;
  Tensor input, target;
  Tensor penalty() {
    const Tensor loss = nll_loss(net->forward(input).log_softmax(1), target);
    const auto grads = autograd::grad({loss}, net->parameters(), {}, std::nullopt, true);
    Tensor squares = zeros({}, TensorOptions(input.scalar_type()));
    for (const Tensor& g : grads) squares = squares + g.pow(2).sum();
    return squares.sqrt();
  }
};

TEST(Samples, S31_AGradientPenalty) {
  manual_seed(0);
  Program p{resnet18(64, 1000), randn({2, 3, 224, 224}), tensor({1, 2})};
  optim::SGD optimizer(p.net->parameters(), optim::SGDOptions(1e-3));
  for (const Tensor& w : p.net->parameters()) EXPECT_FALSE(w.grad().defined());
  const Tensor norm = p.penalty();
  for (const Tensor& w : p.net->parameters()) EXPECT_FALSE(w.grad().defined());
  norm.backward();
  EXPECT_TRUE(std::isfinite(norm.item<double>()));
  for (const Tensor& w : p.net->parameters()) {
    if (w.grad().defined()) {
      EXPECT_TRUE(w.grad().isfinite().all().item<bool>());
    }
  }
  optimizer.step();
}

TEST(Samples, S31_ItsGradientIsThatOfDifferences) {
  manual_seed(0);
  Program p{resnet18(4, 10), randn({2, 3, 64, 64}, kDouble), tensor({1, 2})};
  p.net->to(kDouble);
  p.penalty().backward();
  const auto weights = p.net->parameters();
  for (std::size_t k : {0, 3, 18, 30, 60}) {
    const Tensor w = weights[k].detach().reshape({-1}), at = w.slice(0, 0, 1);
    const double eps = 1e-7, before = at.item<double>();
    const auto value = [&](double v) {
      at.fill_(v);
      return p.penalty().item<double>();
    };
    const double slope = (value(before + eps) - value(before - eps)) / (2 * eps);
    at.fill_(before);
    const double own = weights[k].grad().reshape({-1})[0].item<double>();
    EXPECT_NEAR(own, slope, 1e-4 * (1 + std::fabs(slope))) << "parameter " << k;
  }
}

TEST(Samples, S31_StepsShrinkTheNorm) {
  manual_seed(0);
  Program p{resnet18(8, 10), randn({2, 3, 64, 64}), tensor({1, 2})};
  optim::SGD optimizer(p.net->parameters(), optim::SGDOptions(1e-3));
  const double first = p.penalty().item<double>();
  for (int step = 0; step < 50; ++step) {
    optimizer.zero_grad();
    p.penalty().backward();
    optimizer.step();
  }
  EXPECT_LT(p.penalty().item<double>(), 0.7 * first);
}

}  // namespace
}  // namespace tenon::samples
