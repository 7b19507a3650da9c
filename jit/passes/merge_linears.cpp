// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Linear layers of one input, as the projections to query, key and value are, become one with the
// rows of all weights, and the parts of what it gives.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "jit/ir/alias.h"
#include "jit/passes/passes.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"
#include "tenon/creation.h"
#include "tenon/ops.h"

namespace tenon::jit {
namespace {

class Merging {
 public:
  explicit Merging(Graph& g) : graph_(g), facts_(g), shapes_(g) {}
  bool run() {
    block(*graph_.block());
    return changed_;
  }

 private:
  void block(Block& b) {
    std::unordered_map<const Value*, std::vector<Node*>> layers;
    std::vector<const Value*> order;
    for (Node* n : b.nodes()) {
      for (Block* inner : n->blocks()) block(*inner);
      if (!is_layer(*n)) continue;
      auto& same = layers[n->input(0)];
      if (same.empty()) order.push_back(n->input(0));
      if (same.empty() || fits(*same[0], *n)) same.push_back(n);
    }
    for (const Value* input : order)
      if (layers[input].size() > 1) merge(layers[input]);
  }

  // Its parts are views of one result: nobody may write them.
  bool is_layer(const Node& n) const {
    if (!n.is("aten::linear") || !n.op || n.inputs().size() != 3) return false;
    const auto weight = tensor_of(n.input(1)), bias = tensor_of(n.input(2));
    if (!weight || weight->dim() != 2 || (!bias && !is_none(n.input(2)))) return false;
    if (bias && (bias->dim() != 1 || bias->size(0) != weight->size(0))) return false;
    for (const Value* v : n.inputs())
      if (facts_.has_writers(v)) return false;
    return !facts_.has_writers(n.output()) && !facts_.escapes(n.output()) &&
           takes_parts(n.output(), n.output());
  }

  // Whether all users take a tensor that is a part of the columns of another: `view` may not, where
  // it joins dimensions.
  bool takes_parts(const Value* v, const Value* layer) const {
    for (const Use& u : v->uses()) {
      const Node& n = *u.user;
      if (computes(n)) continue;
      const bool view = n.is("aten::view") && v == layer && splits_last(n);
      if (!view && !keeps_elements(n)) return false;
      if (!takes_parts(n.output(), layer)) return false;
    }
    return true;
  }
  static bool computes(const Node& n) {
    static const std::set<std::string, std::less<>> kinds{
        "aten::matmul", "aten::bmm",     "aten::scaled_dot_product_attention",
        "aten::add",    "aten::mul",     "aten::sub",
        "aten::div",    "aten::softmax", "aten::layer_norm",
        "aten::relu",   "aten::gelu",    "aten::silu",
        "aten::neg",    "aten::reshape", "aten::linear",
        "aten::size",   "aten::dim",     "aten::cat",
        "aten::clone",  "aten::sigmoid", "aten::_linear_epilogue"};
    return n.op && kinds.count(n.kind());
  }
  static bool keeps_elements(const Node& n) {
    static const std::set<std::string, std::less<>> kinds{
        "aten::transpose", "aten::permute", "aten::unsqueeze", "aten::expand",
        "aten::select",    "aten::slice",   "aten::narrow"};
    return n.op && n.outputs().size() == 1 && kinds.count(n.kind());
  }
  // All sizes but the last stay.
  bool splits_last(const Node& n) const {
    const TensorFacts &from = shapes_.of(n.input(0)), &to = shapes_.of(n.output());
    return !from.last.empty() && from.lead == 0 && to.lead == 0 &&
           to.last.size() >= from.last.size() &&
           std::equal(from.last.begin(), from.last.end() - 1, to.last.begin());
  }

  // Of one dtype and device, both with a bias or none with one.
  static bool fits(const Node& first, const Node& n) {
    const Tensor a = *tensor_of(first.input(1)), b = *tensor_of(n.input(1));
    return a.scalar_type() == b.scalar_type() && a.device() == b.device() &&
           a.size(1) == b.size(1) && is_none(first.input(2)) == is_none(n.input(2));
  }

  void merge(const std::vector<Node*>& layers) {
    Node& first = *layers[0];
    const Graph::InsertPoint at(graph_, &first);
    std::vector<Tensor> weights, biases;
    std::vector<int64_t> sizes;
    for (const Node* n : layers) {
      weights.push_back(*tensor_of(n->input(1)));
      sizes.push_back(weights.back().size(0));
      if (!is_none(n->input(2))) biases.push_back(*tensor_of(n->input(2)));
    }
    const auto constant = [&](IValue v, const TypePtr& type) {
      return graph_.insert_constant(std::move(v), first.range, type);
    };
    Value* bias = biases.empty() ? constant(IValue(), Type::none())
                                 : constant(tenon::cat(biases), Type::tensor());
    Value* all =
        insert_call(graph_, "aten::linear",
                    {first.input(0), constant(tenon::cat(weights), Type::tensor()), bias}, first)
            ->output();
    int64_t from = 0;
    for (std::size_t i = 0; i < layers.size(); from += sizes[i++]) {
      const auto number = [&](int64_t k) { return constant(k, Type::integer()); };
      Node* part = insert_call(graph_, "aten::narrow",
                               {all, number(-1), number(from), number(sizes[i])}, first);
      layers[i]->output()->replace_all_uses_with(part->output());
    }
    for (Node* n : layers) n->destroy();
    changed_ = true;
  }

  Graph& graph_;
  AliasFacts facts_;
  ShapeFacts shapes_;
  bool changed_ = false;
};

}  // namespace

bool merge_linears(Graph& g) { return Merging(g).run(); }

}  // namespace tenon::jit
