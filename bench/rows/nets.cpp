// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whole networks.
#include "bench/rows/rows.h"

namespace nn = torch::nn;

namespace {

struct BlockImpl : nn::Module {
  nn::Sequential body{nullptr}, skip{nullptr};
  BlockImpl(int64_t in, int64_t out, int64_t stride) {
    auto conv = [](int64_t i, int64_t o, int64_t k, int64_t st) {
      return nn::Conv2d(nn::Conv2dOptions(i, o, k).stride(st).padding(k / 2).bias(false));
    };
    body = register_module(
        "body", nn::Sequential(conv(in, out, 3, stride), nn::BatchNorm2d(out), nn::ReLU(),
                               conv(out, out, 3, 1), nn::BatchNorm2d(out)));
    if (stride != 1 || in != out)
      skip =
          register_module("skip", nn::Sequential(conv(in, out, 1, stride), nn::BatchNorm2d(out)));
  }
  Tensor forward(Tensor x) { return (body->forward(x) + (skip ? skip->forward(x) : x)).relu_(); }
};
TORCH_MODULE(Block);

nn::Sequential resnet18() {
  nn::Sequential net(nn::Conv2d(nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false)),
                     nn::BatchNorm2d(64), nn::ReLU(),
                     nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t in = 64;
  for (int64_t out : {64, 128, 256, 512}) {
    net->push_back(Block(in, out, out == 64 ? 1 : 2));
    net->push_back(Block(out, out, 1));
    in = out;
  }
  net->push_back(nn::AdaptiveAvgPool2d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(512, 1000));
  return net;
}

Tensor attention(Tensor const& q, Tensor const& k, Tensor const& v) {
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(q, k, v);
#else
  return (q.matmul(k.transpose(-2, -1)) / std::sqrt(double(q.size(-1)))).softmax(-1).matmul(v);
#endif
}

// Two layers of 256 over 50 steps of 32 sequences.
auto lstm_step(bool backward) {
  return [=] {
    nn::LSTM net(nn::LSTMOptions(256, 256).num_layers(2));
    return [=, x = torch::randn({50, 32, 256}), grad = torch::randn({50, 32, 256})]() mutable {
      torch::AutoGradMode mode(backward);
      auto y = std::get<0>(net->forward(x));
      if (!backward) return keep(y);
      net->zero_grad();
      y.backward(grad);
      keep(net->parameters()[0].grad());
    };
  };
}

// Two layers of 256 with 4 heads over 32 sequences of 64.
auto encoder_step(bool backward) {
  return [=] {
    auto layer = nn::TransformerEncoderLayerOptions(256, 4).dim_feedforward(1024).dropout(0);
    nn::TransformerEncoder net(nn::TransformerEncoderOptions(layer, 2));
    net->train(backward);
    return [=, x = torch::randn({64, 32, 256}), grad = torch::randn({64, 32, 256})]() mutable {
      torch::AutoGradMode mode(backward);
      auto y = net->forward(x);
      if (!backward) return keep(y);
      net->zero_grad();
      y.backward(grad);
      keep(net->parameters()[0].grad());
    };
  };
}

// The norm of all gradients of a loss, and its own gradients.
auto gradient_penalty() {
  return [] {
    auto net = resnet18();
    return [=, x = torch::randn({2, 3, 224, 224}),
            target = torch::randint(0, 1000, {2}, torch::kLong)]() mutable {
      torch::AutoGradMode on(true);
      net->zero_grad();
      const auto loss = torch::nll_loss(net->forward(x).log_softmax(1), target);
      auto sum = torch::zeros({});
      for (const auto& g : torch::autograd::grad({loss}, net->parameters(), {}, true, true))
        sum = sum + g.pow(2).sum();
      sum.sqrt().backward();
      keep(net->parameters()[0].grad());
    };
  };
}

}  // namespace

void nets_rows(Suite& s) {
  auto row = [&](std::string const& name, auto make, char const* note = "") {
    s.row("nets", name, make, note);
  };
  for (int64_t batch : {1, 8})
    row(
        "resnet18_b" + std::to_string(batch),
        [=] {
          auto net = resnet18();
          net->eval();
          return [=, x = torch::randn({batch, 3, 224, 224})]() mutable { keep(net->forward(x)); };
        },
        "eval forward, 224x224, batch norm not fused");
  row("gradient_penalty", gradient_penalty(), "ResNet-18, 2 x 3 x 224 x 224, second order");
  row("lstm_fwd", lstm_step(false));
  row("lstm_fwd_bwd", lstm_step(true));
  row("encoder_fwd", encoder_step(false), "2 layers, 64 x 32 x 256");
  row("encoder_fwd_bwd", encoder_step(true), "2 layers, 64 x 32 x 256");
  for (auto type : {torch::kFloat, torch::kBFloat16})
    row(type == torch::kFloat ? "sdpa_8x512x64" : "sdpa_8x512x64_bf16", [=] {
      auto t = [=] { return torch::randn({1, 8, 512, 64}).to(type); };
      return [q = t(), k = t(), v = t()] { keep(attention(q, k, v)); };
    });
}
