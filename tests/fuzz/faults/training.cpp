// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "training.h"

#include <sstream>

#include "tenon/tenon.h"

namespace tenon::faults {
namespace {

using Numbers = std::vector<double>;

std::string file(const char* name) { return g_folder + "/" + name; }

Tensor input() { return (arange(24, kFloat) * 0.1).sin().reshape({4, 6}); }

Numbers backward() {
  Tensor w = (input() * 2).detach().requires_grad_(), b = ones({6}).requires_grad_();
  Tensor y = (w * b).tanh() + w.t().mm(input()).sum();
  y[1].sum().backward();
  return numbers_of({w.grad(), b.grad()});
}
Numbers second_backward() {
  Tensor x = input().requires_grad_();
  const Tensor g = autograd::grad({(x.exp() * x).sum()}, {x}, {}, true, true)[0];
  g.pow(2).sum().backward();
  return numbers_of({g, x.grad()});
}
Numbers deep_graph() {
  Tensor x = input().requires_grad_(), y = x;
  for (int i = 0; i < 100; ++i) y = y * 0.99 + x * 0.01;
  y.sum().backward();
  return numbers_of(x.grad());
}
Numbers hooks() {
  Tensor x = input().requires_grad_();
  Tensor y = x * 2;
  y.register_hook([](Tensor g) { return g * 3; });
  y.retain_grad();
  y.exp().sum().backward();
  return numbers_of({x.grad(), y.grad()});
}

struct Scaled : autograd::Function<Scaled> {
  static Tensor forward(autograd::AutogradContext* c, Tensor a, Tensor b) {
    c->save_for_backward({a, b});
    return a * b;
  }
  static autograd::variable_list backward(autograd::AutogradContext* c, autograd::variable_list g) {
    const auto saved = c->get_saved_variables();
    return {g[0] * saved[1], g[0] * saved[0]};
  }
};
Numbers custom_function() {
  Tensor a = input().requires_grad_(), b = (input() + 1).detach().requires_grad_();
  Scaled::apply(a, b).sum().backward();
  return numbers_of({a.grad(), b.grad()});
}

nn::Sequential network() {
  manual_seed(3);
  return nn::Sequential(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 3));
}
Numbers module_forward() {
  auto net = network();
  return numbers_of(net->forward(input()));
}
Numbers recurrent() {
  manual_seed(4);
  nn::LSTM lstm(nn::LSTMOptions(6, 5).num_layers(2));
  Tensor x = input().reshape({4, 1, 6}).requires_grad_();
  const Tensor y = std::get<0>(lstm->forward(x));
  y.sum().backward();
  return numbers_of({y, x.grad()});
}
Numbers embedding() {
  manual_seed(5);
  nn::Embedding table(10, 4);
  const Tensor y = table->forward(tensor({1, 3, 3, 7}));
  y.sum().backward();
  return numbers_of({y, table->weight.grad()});
}

template <class Make>
Numbers trained(Make make) {
  auto net = network();
  auto optimizer = make(net->parameters());
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    net->forward(input()).pow(2).sum().backward();
    optimizer.step();
  }
  return numbers_of(net->parameters());
}
optim::Adam adam(const std::vector<Tensor>& p) { return optim::Adam(p, optim::AdamOptions(0.01)); }
Numbers sgd_steps() {
  return trained(
      [](const auto& p) { return optim::SGD(p, optim::SGDOptions(0.01).momentum(0.9)); });
}
Numbers adam_steps() { return trained(adam); }
Numbers rmsprop_steps() {
  return trained([](const auto& p) { return optim::RMSprop(p, optim::RMSpropOptions(0.01)); });
}

std::vector<Tensor> some_tensors() {
  const Tensor base = input();
  return {base, base[1], base.t(), arange(5), ones({0, 3})};
}
Numbers tensors_back(const std::string& name) {
  std::vector<Tensor> back;
  load(back, name);
  return numbers_of(back);
}
Numbers save_tensors() {
  save(some_tensors(), file("saved"));
  return tensors_back(file("saved"));
}
void write_tensors() { save(some_tensors(), file("tensors")); }
Numbers load_tensors() { return tensors_back(file("tensors")); }
Numbers save_module() {
  auto net = network();
  save(net, file("saved_module"));
  auto other = network();
  {
    NoGradGuard no_grad;
    for (auto& p : other->parameters()) p.zero_();
  }
  load(other, file("saved_module"));
  return numbers_of(other->parameters());
}
void write_module() { save(network(), file("module")); }
Numbers load_module() {
  auto net = network();
  load(net, file("module"));
  return numbers_of(net->parameters());
}
Numbers save_optimizer() {
  auto net = network();
  auto one = adam(net->parameters());
  net->forward(input()).sum().backward();
  one.step();
  save(one, file("saved_optimizer"));
  auto two = adam(net->parameters());
  load(two, file("saved_optimizer"));
  two.step();
  return numbers_of(net->parameters());
}
void write_optimizer() {
  auto net = network();
  auto one = adam(net->parameters());
  net->forward(input()).sum().backward();
  one.step();
  save(one, file("optimizer"));
}
Numbers load_optimizer() {
  auto net = network();
  auto one = adam(net->parameters());
  load(one, file("optimizer"));
  net->forward(input()).sum().backward();
  one.step();
  return numbers_of(net->parameters());
}
Numbers save_to_stream() {
  std::stringstream stream;
  stream.exceptions(std::ios::badbit);
  save(some_tensors(), stream);
  std::vector<Tensor> back;
  load(back, stream);
  return numbers_of(back);
}

struct Lines : data::datasets::Dataset<Lines> {
  data::Example<> get(std::size_t i) override {
    return {full({3}, static_cast<double>(i)), full({1}, static_cast<double>(i * i))};
  }
  std::optional<std::size_t> size() const override { return 20; }
};
Numbers loaded(std::size_t workers) {
  auto loader = data::make_data_loader<data::samplers::SequentialSampler>(
      Lines().map(data::transforms::Stack<>()), data::DataLoaderOptions(4).workers(workers));
  Numbers out;
  for (auto& batch : *loader) {
    const Numbers of = numbers_of({batch.data, batch.target});
    out.insert(out.end(), of.begin(), of.end());
  }
  return out;
}
Numbers data_loading() { return loaded(0); }
Numbers data_loading_by_workers() { return loaded(3); }

}  // namespace

const std::vector<Operation>& training_operations() {
  static const std::vector<Operation> all = {
      {"backward", backward},
      {"second_backward", second_backward},
      {"deep_graph", deep_graph},
      {"hooks", hooks},
      {"custom_function", custom_function},
      {"module_forward", module_forward},
      {"recurrent", recurrent},
      {"embedding", embedding},
      {"sgd", sgd_steps},
      {"adam", adam_steps},
      {"rmsprop", rmsprop_steps},
      {"save_tensors", save_tensors},
      {"load_tensors", load_tensors, write_tensors},
      {"save_module", save_module},
      {"load_module", load_module, write_module},
      {"save_optimizer", save_optimizer},
      {"load_optimizer", load_optimizer, write_optimizer},
      {"save_stream", save_to_stream},
      {"data", data_loading},
      {"data_workers", data_loading_by_workers},
  };
  return all;
}

}  // namespace tenon::faults
