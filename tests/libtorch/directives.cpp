// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A program that leaves torch:: out where libtorch lets it: its factories are ambiguous there with
// those of at.
#include <torch/torch.h>

#include <iostream>

using namespace torch;
using namespace torch::indexing;

struct NetImpl : nn::Module {
  NetImpl()
      : lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(3, 4).batch_first(true)))),
        out(4, 2) {
    register_module("out", out);
  }
  Tensor forward(const Tensor& x) {
    auto [all, state] = lstm->forward(x);
    return out(all.index({Slice(), -1}));
  }
  nn::LSTM lstm;
  nn::Linear out;
};
TORCH_MODULE(Net);

int main() {
  Net net;
  {
    NoGradGuard no_grad;
    for (auto& p : net->named_parameters()) p.value().fill_(p.key() == "out.bias" ? 0.5 : 0.1);
  }
  optim::SGD sgd(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  const Tensor x = torch::arange(12, kFloat32).view({2, 2, 3}) / 12, y = torch::arange(2, kLong);
  for (int step = 0; step < 3; ++step) {
    sgd.zero_grad();
    Tensor loss = nn::functional::cross_entropy(net(x), y);
    loss.backward();
    sgd.step();
    std::cout << loss.item<float>() << "\n";
  }
  Tensor leaf = torch::ones({2}, TensorOptions().requires_grad(true));
  std::cout << autograd::grad({(leaf * leaf).sum()}, {leaf})[0] << "\n";
  std::cout << nn::functional::relu(torch::arange(-1, 2)) << "\n";
  return 0;
}
