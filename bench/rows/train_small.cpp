// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Autograd and small training steps.
#include "bench/rows/rows.h"

namespace {

auto chain(bool a_needs_grad) {
  return [=] {
    auto x = grad(torch::ones({1}));
    auto a = torch::ones({1}).requires_grad_(a_needs_grad);
    return [=] {
      clear({x, a});
      auto y = x;
      for (int i = 0; i < 100; ++i) y = y * a;
      y.backward();
    };
  };
}

struct Mlp {
  torch::nn::Sequential net{torch::nn::Linear(64, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64),
                            torch::nn::ReLU(), torch::nn::Linear(64, 10)};
  Tensor x = torch::randn({32, 64});
  Tensor y = torch::randint(0, 10, {32}, torch::kLong);
  Tensor loss() { return F::cross_entropy(net->forward(x), y); }
};

template <class Optimizer, class Options>
auto mlp_step(const Options& options) {
  auto m = std::make_shared<Mlp>();
  auto o = std::make_shared<Optimizer>(m->net->parameters(), options);
  return [=] {
    o->zero_grad();
    m->loss().backward();
    o->step();
  };
}

struct DigitNet {
  torch::nn::Sequential net{torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 16, 3).padding(1)),
                            torch::nn::ReLU(),
                            torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 32, 3).padding(1)),
                            torch::nn::ReLU(),
                            torch::nn::MaxPool2d(2),
                            torch::nn::Flatten(),
                            torch::nn::Linear(512, 10)};
  torch::optim::SGD sgd{net->parameters(), torch::optim::SGDOptions(0.01)};
  void step(Tensor const& x, Tensor const& y) {
    sgd.zero_grad();
    F::cross_entropy(net->forward(x), y).backward();
    sgd.step();
  }
};

}  // namespace

void train_rows(Suite& s) {
  auto row = [&](char const* name, auto make, char const* note = "", double per = 1) {
    s.row("train_small", name, make, note, per);
  };
  row(
      "chain_100", [] { return chain(false)(); }, "x=x*a, x needs grad, forward+backward, per op",
      100);
  row(
      "chain_100_both", [] { return chain(true)(); }, "both need grad, per op", 100);
  row(
      "small_fwd_bwd",
      [] {
        auto x = torch::randn({4, 4}), w = grad(torch::randn({4, 4})), b = grad(torch::randn({4}));
        return [=] {
          clear({w, b});
          (x * w + b).relu().sum().backward();
        };
      },
      "(x*w+b).relu().sum(), forward+backward");
  row(
      "small_bwd",
      [] {
        auto x = torch::randn({4, 4}), w = grad(torch::randn({4, 4})), b = grad(torch::randn({4}));
        auto loss = (x * w + b).relu().sum();
        return [=] {
          clear({w, b});
          loss.backward({}, true);
        };
      },
      "same graph, backward only (graph kept)");
  row(
      "mlp_fwd",
      [] {
        auto m = std::make_shared<Mlp>();
        return [=] {
          torch::NoGradGuard off;
          keep(m->loss());
        };
      },
      "64-64-64-10, batch 32, cross_entropy, no grad");
  row("mlp_fwd_bwd", [] {
    auto m = std::make_shared<Mlp>();
    return [=, p = m->net->parameters()] {
      clear(p);
      m->loss().backward();
    };
  });
  row(
      "mlp_sgd", [] { return mlp_step<torch::optim::SGD>(torch::optim::SGDOptions(0.01)); },
      "full step");
  row(
      "mlp_adam", [] { return mlp_step<torch::optim::Adam>(torch::optim::AdamOptions(1e-3)); },
      "full step");
  row(
      "digits_step",
      [] {
        auto n = std::make_shared<DigitNet>();
        return [=, x = torch::randn({64, 1, 8, 8}), y = torch::randint(0, 10, {64}, torch::kLong)] {
          n->step(x, y);
        };
      },
      "conv net, batch 64, SGD step");
  row(
      "digits_epoch",
      [] {
        auto n = std::make_shared<DigitNet>();
        return [=, x = torch::randn({1437, 1, 8, 8}),
                y = torch::randint(0, 10, {1437}, torch::kLong)] {
          auto order = torch::randperm(1437);
          for (int64_t i = 0; i < 1437; i += 64) {
            auto pick = order.slice(0, i, std::min<int64_t>(i + 64, 1437));
            n->step(x.index_select(0, pick), y.index_select(0, pick));
          }
        };
      },
      "1437 samples, batch 64, shuffled");
}
