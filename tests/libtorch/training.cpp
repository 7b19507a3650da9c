// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A libtorch program: modules with weights from a formula, losses, SGD and Adam, save and load.
#include <torch/torch.h>

#include <cstdio>
#include <iostream>

namespace {

// The same numbers in every library: no random draws.
torch::Tensor wave(torch::IntArrayRef sizes, double scale, double phase = 0) {
  auto x = torch::arange(torch::empty(sizes).numel(), torch::kFloat64);
  return (torch::sin(x * 0.7 + phase) * scale).to(torch::kFloat32).view(sizes);
}

void fill(torch::nn::Module& module) {
  torch::NoGradGuard no_grad;
  double phase = 0;
  for (auto& parameter : module.named_parameters()) {
    bool norm = parameter.key().find("norm") != std::string::npos;
    parameter.value().copy_(wave(parameter.value().sizes(), norm ? 0.1 : 0.3, phase += 1));
    if (norm) parameter.value().add_(1);
  }
}

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv(register_module("conv",
                             torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).padding(1)))),
        norm(register_module("norm", torch::nn::BatchNorm2d(4))),
        fc(register_module("fc", torch::nn::Linear(4 * 4 * 4, 3))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = torch::max_pool2d(torch::relu(norm(conv(x))), 2);
    return fc(x.flatten(1));
  }
  torch::nn::Conv2d conv{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  torch::nn::Linear fc{nullptr};
};
TORCH_MODULE(Net);

void describe(const char* name, const Net& net) {
  std::cout << "# " << name << "\n";
  for (const auto& p : net->named_parameters()) {
    std::printf("%s %lld %.4f\n", p.key().c_str(), static_cast<long long>(p.value().numel()),
                p.value().abs().sum().item<double>());
  }
  for (const auto& b : net->named_buffers()) {
    std::printf("%s %.4f\n", b.key().c_str(), b.value().to(torch::kFloat64).sum().item<double>());
  }
  std::fflush(stdout);
}

template <class Optimizer>
void fit(const char* name, Net& net, Optimizer& optimizer) {
  auto x = wave({12, 1, 8, 8}, 1.0);
  auto y = torch::arange(12).remainder(3);
  net->train();
  for (int step = 0; step < 8; ++step) {
    optimizer.zero_grad();
    auto out = net->forward(x);
    auto loss = torch::nn::functional::cross_entropy(out, y);
    loss.backward();
    optimizer.step();
    std::printf("%s %d %.3f %lld\n", name, step, loss.template item<double>(),
                static_cast<long long>(out.argmax(1).eq(y).sum().template item<int64_t>()));
  }
  std::fflush(stdout);
}

void sequential() {
  torch::nn::Sequential mlp(torch::nn::Linear(4, 5), torch::nn::Tanh(), torch::nn::Linear(5, 1));
  fill(*mlp);
  auto x = wave({6, 4}, 1.0);
  auto y = x.sum(1, true);
  torch::optim::SGD sgd(mlp->parameters(),
                        torch::optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  for (int step = 0; step < 5; ++step) {
    sgd.zero_grad();
    auto loss = torch::mse_loss(mlp->forward(x), y);
    loss.backward();
    sgd.step();
    std::printf("mlp %d %.4f\n", step, loss.item<double>());
  }
  std::fflush(stdout);
  std::cout << mlp->size() << " " << mlp->parameters().size() << " " << mlp->is_training() << "\n";
}

}  // namespace

int main() {
  Net net;
  fill(*net);
  describe("start", net);
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  fit("sgd", net, sgd);
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(1e-3).weight_decay(1e-4));
  fit("adam", net, adam);
  describe("trained", net);

  net->eval();
  torch::NoGradGuard no_grad;
  auto x = wave({2, 1, 8, 8}, 1.0, 0.3);
  auto before = net->forward(x);
  torch::save(net, "net.saved");
  Net other;
  torch::load(other, "net.saved");
  other->eval();
  std::cout << "reloaded " << torch::equal(before, other->forward(x)) << "\n";
  torch::save(adam, "adam.saved");
  torch::optim::Adam resumed(other->parameters(), torch::optim::AdamOptions(0.5));
  torch::load(resumed, "adam.saved");
  std::cout << "rate "
            << static_cast<torch::optim::AdamOptions&>(resumed.param_groups()[0].options()).lr()
            << "\n";
  std::remove("net.saved");
  std::remove("adam.saved");
  std::cout << "dropout " << torch::equal(torch::dropout(x, 0.5, /*train=*/false), x) << "\n";
  torch::AutoGradMode with_grad(true);
  sequential();
}
