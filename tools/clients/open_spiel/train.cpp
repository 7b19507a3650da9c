// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Trains OpenSpiel's networks on made positions until they know them, and loads them again.
#include <iostream>
#include <sstream>

#include "open_spiel/algorithms/alpha_zero_torch/model.h"
#include "open_spiel/algorithms/dqn_torch/simple_nets.h"
#include "open_spiel/spiel_utils.h"

namespace {

double train_alpha_zero(const std::string& kind) {
  torch::manual_seed(1);
  open_spiel::algorithms::torch_az::ModelConfig config{{3, 4, 4}, 10, 2, 16, 0.01, 1e-4, kind};
  open_spiel::algorithms::torch_az::Model net(config, "cpu:0");
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(config.learning_rate));
  const auto x = torch::rand({16, 48}), masks = torch::ones({16, 10}, torch::kByte);
  const auto policy = torch::softmax(torch::randn({16, 10}) * 4, 1);
  const auto value = torch::rand({16, 1}) * 2 - 1;
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    net->train();
    net->zero_grad();
    const auto losses = net->losses(x, masks, policy, value);
    auto total = losses[0] + losses[1] + losses[2];
    total.backward();
    adam.step();
    (step == 0 ? first : last) = total.item<double>();
  }
  SPIEL_CHECK_LT(last, first);
  return last;
}

void train_dqn() {
  torch::manual_seed(2);
  open_spiel::algorithms::torch_dqn::MLP net(6, std::vector<int>{32}, 3),
      copy(6, std::vector<int>{32}, 3);
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1));
  const auto x = torch::rand({32, 6}), y = torch::stack({x.sum(1), x.select(1, 0), -x.sum(1)}, 1);
  torch::Tensor loss;
  for (int step = 0; step < 500; ++step) {
    sgd.zero_grad();
    loss = torch::mse_loss(net->forward(x), y);
    loss.backward();
    sgd.step();
  }
  SPIEL_CHECK_LT(loss.item<double>(), 0.05);
  std::stringstream file;
  torch::save(net, file);
  torch::load(copy, file);
  SPIEL_CHECK_TRUE(copy->forward(x).equal(net->forward(x)));
}

}  // namespace

int main() {
  for (const char* kind : {"mlp", "resnet"})
    std::cout << kind << ": " << train_alpha_zero(kind) << "\n";
  train_dqn();
}
