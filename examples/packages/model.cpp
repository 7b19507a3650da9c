// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <cmath>

namespace packages {
namespace {

using tenon::Tensor;

// Each element divided by the root of the sums of its row and of its column.
Tensor normalized(const Tensor& a) {
  Tensor one = tenon::ones({a.size(1), 1}, a.values().options());
  Tensor rows = a.mm(one).squeeze(1).clamp_min(1).rsqrt();
  Tensor columns = a.t().mm(one).squeeze(1).clamp_min(1).rsqrt();
  Tensor at = a.indices();
  Tensor values = a.values() * rows.index_select(0, at[0]) * columns.index_select(0, at[1]);
  return tenon::sparse_coo_tensor(at, values, a.sizes(), values.options(), true);
}

// Ones at the pairs (row, column), each pair once.
Tensor pattern(const Tensor& pairs, int64_t n) {
  auto options = tenon::TensorOptions(tenon::kFloat).device(pairs.device());
  Tensor at = tenon::sparse_coo_tensor(pairs, tenon::ones({pairs.size(1)}, options), {n, n})
                  .coalesce()
                  .indices();
  return tenon::sparse_coo_tensor(at, tenon::ones({at.size(1)}, options), {n, n}, options, true);
}

Tensor indices(const std::vector<int64_t>& v, const tenon::Device& device) {
  return tenon::tensor(v).to(device);
}

// Half a cosine from the given rate to nothing.
void set_rate(tenon::optim::Adam& adam, double rate, double done) {
  double now = 0.5 * rate * (1 + std::cos(3.14159265358979 * done));
  for (auto& group : adam.param_groups()) {
    static_cast<tenon::optim::AdamOptions&>(group.options()).lr(now);
  }
}

}  // namespace

std::vector<Tensor> adjacency(const Graph& graph, bool directed, const tenon::Device& device) {
  std::vector<int64_t> from, to;
  for (auto [a, b] : graph.links) {
    from.push_back(a);
    to.push_back(b);
  }
  int64_t n = graph.size();
  Tensor needs = tenon::stack({indices(from, device), indices(to, device)});
  Tensor needed = needs.flip(0);
  if (directed) return {normalized(pattern(needs, n)), normalized(pattern(needed, n))};
  Tensor self = tenon::arange(n, tenon::TensorOptions(tenon::kLong).device(device)).expand({2, n});
  return {normalized(pattern(tenon::cat({needs, needed, self}, 1), n))};
}

GcnImpl::GcnImpl(std::vector<Tensor> matrices_, int64_t width, int64_t sections, double dropout)
    : matrices(std::move(matrices_)),
      drop(register_module("drop", tenon::nn::Dropout(dropout))),
      out(register_module(
          "out", tenon::nn::Linear(width * static_cast<int64_t>(matrices.size()), sections))) {
  for (const auto& m : matrices) {
    auto name = "nodes" + std::to_string(nodes.size());
    nodes.push_back(register_module(name, tenon::nn::Embedding(m.size(1), width)));
    tenon::nn::init::normal_(nodes.back()->weight, 0, 0.01);
  }
}

Tensor GcnImpl::embed() {
  Tensor x = matrices[0].mm(nodes[0]->weight);
  for (std::size_t i = 1; i < matrices.size(); ++i) x = x + matrices[i].mm(nodes[i]->weight);
  x = drop(tenon::relu(x));
  std::vector<Tensor> seen;
  for (const auto& m : matrices) seen.push_back(m.mm(x));
  return tenon::cat(seen, 1);
}

void train(Gcn& net, const Graph& graph, const Split& split, const Options& options,
           const Progress& progress) {
  auto device = net->matrices[0].device();
  std::vector<int64_t> sections;
  for (int64_t i : split.known) sections.push_back(graph.section[static_cast<std::size_t>(i)]);
  Tensor known = indices(split.known, device), truth = indices(sections, device);
  tenon::optim::Adam adam(net->parameters(), tenon::optim::AdamOptions(options.learning_rate));
  net->train();
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    set_rate(adam, options.learning_rate, static_cast<double>(epoch) / options.epochs);
    adam.zero_grad();
    Tensor out = net->forward().index_select(0, known);
    Tensor loss = tenon::nn::functional::cross_entropy(out, truth);
    loss.backward();
    adam.step();
    progress(epoch, {loss.item<double>(),
                     out.argmax(1).eq(truth).to(tenon::kFloat).mean().item<double>()});
  }
}

Answers answer(Gcn& net) {
  tenon::NoGradGuard no_grad;
  net->eval();
  Answers out;
  out.embedding = net->embed();
  out.probability = net->out(out.embedding).softmax(1).cpu();
  Tensor best = out.probability.argmax(1);
  const auto* p = best.data_ptr<int64_t>();
  out.best.assign(p, p + best.numel());
  return out;
}

}  // namespace packages
