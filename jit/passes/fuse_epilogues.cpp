// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "jit/ir/alias.h"
#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/product.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {
namespace {

constexpr const char* kConv = "aten::_conv_epilogue";
constexpr const char* kLinear = "aten::_linear_epilogue";

struct Activation {
  std::string name;
  std::vector<double> parameters;
};

// What becomes one node: the product, the addition, the activation.
struct Chain {
  Node* last = nullptr;
  Value* other = nullptr;  // null: nothing is added
  Activation activation{"none", {}};
  std::vector<Node*> nodes;  // after the product, in their order
};

std::string plain_kind(const Node& n) {
  const std::string& kind = n.kind();
  return kind.back() == '_' ? kind.substr(0, kind.size() - 1) : kind;
}

std::optional<Activation> plain_activation(const std::string& kind) {
  static const std::map<std::string, Activation, std::less<>> all{
      {"aten::relu", {"relu", {}}},           {"aten::silu", {"silu", {}}},
      {"aten::hardswish", {"hardswish", {}}}, {"aten::hardsigmoid", {"hardsigmoid", {}}},
      {"aten::sigmoid", {"sigmoid", {}}},     {"aten::tanh", {"tanh", {}}},
      {"aten::relu6", {"hardtanh", {0, 6}}}};
  const auto it = all.find(kind);
  return it == all.end() ? std::nullopt : std::optional(it->second);
}

std::optional<Activation> activation_of(const Node& n) {
  if (!n.op || n.outputs().size() != 1) return std::nullopt;
  const std::string kind = plain_kind(n);
  if (auto a = plain_activation(kind)) return n.inputs().size() == 1 ? a : std::nullopt;
  const auto at = [&](const char* name) {
    const Value* v = argument(n, name);
    return v ? number_of(v) : std::nullopt;
  };
  if (kind == "aten::gelu") {
    const auto how = to_constant(n.input(1));
    if (!how || !how->isString()) return std::nullopt;
    if (how->toStringView() == "none") return Activation{"gelu", {}};
    if (how->toStringView() == "tanh") return Activation{"gelu_tanh", {}};
  } else if (kind == "aten::hardtanh") {
    const auto min = at("min_val"), max = at("max_val");
    if (min && max) return Activation{"hardtanh", {*min, *max}};
  } else if (kind == "aten::clamp") {
    const auto min = at("min"), max = at("max");
    if (min && max && *min <= *max) return Activation{"hardtanh", {*min, *max}};
  } else if (kind == "aten::leaky_relu") {
    if (const auto slope = at("negative_slope")) return Activation{"leaky_relu", {*slope}};
  } else if (kind == "aten::elu") {
    const auto alpha = at("alpha"), scale = at("scale"), input = at("input_scale");
    if (alpha && scale == 1. && input == 1.) return Activation{"elu", {*alpha}};
  }
  return std::nullopt;
}

class Fusion final : public NodePass {
 public:
  explicit Fusion(Graph& g) : NodePass(g), facts_(g), shapes_(g) {}

 private:
  void visit(Node& n) override {
    const ProductLayout* l = n.owning_block() ? product_layout(n) : nullptr;
    if (!l) return;
    Product p;
    if (!fill(n, *l, p)) return;
    Chain c = follow(p);
    if (!c.last && gains_alone(p)) c.last = &n;
    if (c.last) replace(p, c);
  }

  // Convolutions with nothing to finish gain, too: their kernel packs constant weights at once, and
  // filters 3x3 windows.
  static bool gains_alone(const Product& p) {
    return p.convolution && p.weight.scalar_type() == kFloat;
  }

  bool fill(Node& n, const ProductLayout& l, Product& p) {
    const auto at = [&](int i) { return n.input(static_cast<std::size_t>(i)); };
    const auto weight = tensor_of(at(l.weight));
    if (!weight || !weight->is_floating_point() || facts_.has_writers(at(l.weight))) return false;
    p.node = &n;
    p.input = at(l.input);
    p.weight = *weight;
    p.convolution = l.convolution;
    if (l.bias >= 0) p.bias = at(l.bias);
    if (p.bias && !is_none(p.bias)) {
      const auto bias = tensor_of(p.bias);
      const int64_t out = weight->size(l.transposed ? 1 : 0);
      if (!bias || bias->dim() != 1 || bias->size(0) != out ||
          bias->scalar_type() != weight->scalar_type() || facts_.has_writers(p.bias))
        return false;
    }
    if (l.convolution) return fill_convolution(n, p);
    if (weight->dim() != 2) return false;
    if (n.is("aten::addmm") && !(is_number(n.input(3), 1) && is_number(n.input(4), 1)))
      return false;
    if (l.transposed) p.weight = weight->t();
    return true;
  }

  // The other side of a sum, if it has the same shape and comes before.
  Value* added(const Node& n, const Value* v) {
    if (!(n.is("aten::add") || n.is("aten::add_")) || n.inputs().size() != 3) return nullptr;
    if (!n.op || !is_number(n.input(2), 1) || n.input(0) == n.input(1)) return nullptr;
    if (n.is("aten::add_") && n.input(0) != v) return nullptr;
    Value* other = n.input(n.input(0) == v ? 1 : 0);
    const bool tensor = other->type()->is(TypeKind::Tensor);
    return tensor && shapes_.same_shape_and_dtype(v, other) ? other : nullptr;
  }

  // matmul(x, w) + bias
  Value* added_bias(const Node& n, const Value* v, const Product& p) {
    const bool can = !p.convolution && !p.bias && n.is("aten::add") && n.inputs().size() == 3;
    if (!can || !is_number(n.input(2), 1)) return nullptr;
    Value* bias = n.input(n.input(0) == v ? 1 : 0);
    const auto t = tensor_of(bias);
    const bool fits = t && t->dim() == 1 && t->size(0) == p.weight.size(0) &&
                      t->scalar_type() == p.weight.scalar_type();
    return fits && !facts_.has_writers(bias) ? bias : nullptr;
  }

  // Whether what the chain has may be computed at `place`.
  bool can_wait(const Product& p, const Chain& c, const Node* place) {
    std::vector<const Node*> own{p.node};
    own.insert(own.end(), c.nodes.begin(), c.nodes.end());
    for (const Node* k = p.node->next(); k != place; k = k->next()) {
      if (std::find(own.begin(), own.end(), k) != own.end()) continue;
      for (const Node* n : own)
        if (facts_.conflict(n, k)) return false;
    }
    return true;
  }

  Node* insert_like(const Node& n, std::vector<Value*> inputs) {
    Node* made = graph_.create(n.kind(), inputs);
    made->op = n.op;
    made->range = n.range;
    return graph_.insert(made);
  }

  // act(view(y)) becomes view(act(y)), since programs multiply matrices and give the result its
  // dimensions back at once. Returns the activation; null where that cannot be.
  Node* activation_before(Node* view) {
    if (!view->is("aten::view") && !view->is("aten::reshape")) return nullptr;
    Node* next = only_user(view->output());
    if (!next || next->kind().back() == '_' || next->inputs()[0] != view->output() ||
        next->output()->uses().empty() || !activation_of(*next))
      return nullptr;
    const Graph::InsertPoint at(graph_, next);
    std::vector<Value*> inputs(next->inputs().begin(), next->inputs().end());
    inputs[0] = view->input(0);
    Node* activation = insert_like(*next, inputs);
    Node* back = insert_like(*view, {activation->output(), view->input(1)});
    facts_.replaced(next->output(), back->output());
    shapes_.replaced(next->output(), back->output());
    next->output()->replace_all_uses_with(back->output());
    next->destroy();
    view->destroy();
    changed_ = true;
    return activation;
  }

  // Each value on the way is fresh and has one use, so that in-place operators write what nobody
  // else sees.
  Chain follow(Product& p) {
    Chain c;
    Value* v = p.node->output();
    for (;;) {
      Node* next = only_user(v);
      if (next && !p.convolution && next->inputs()[0] == v)
        if (Node* activation = activation_before(next)) next = activation;
      if (!next || next->outputs().size() != 1 || !can_wait(p, c, next)) break;
      if (Value* other = c.other ? nullptr : added(*next, v)) {
        c.other = other;
      } else if (Value* bias = c.other ? nullptr : added_bias(*next, v, p)) {
        p.bias = bias;
      } else if (auto a = next->inputs()[0] == v ? activation_of(*next) : std::nullopt) {
        c.activation = *a;
        c.nodes.push_back(next);
        c.last = next;
        break;
      } else {
        break;
      }
      c.nodes.push_back(next);
      c.last = next;
      v = next->output();
    }
    return c;
  }

  Value* constant(const Node& n, IValue v, const TypePtr& type) {
    return graph_.insert_constant(std::move(v), n.range, type);
  }
  Value* integers(const Node& n, const std::vector<int64_t>& v) {
    return constant(n, IValue(v), Type::list(Type::integer()));
  }

  void replace(const Product& p, const Chain& c) {
    const Graph::InsertPoint at(graph_, c.last);
    const Node& n = *p.node;
    Value* none = nullptr;
    const auto or_none = [&](Value* v) {
      if (v && !is_none(v)) return v;
      return none ? none : none = constant(n, IValue(), Type::none());
    };
    // Here, not in each call; a transposed matrix is packed as it is.
    const bool transposed = !p.convolution && p.weight.dim() == 2 && p.weight.t().is_contiguous();
    const Tensor weight = transposed ? p.weight : p.weight.contiguous();
    std::vector<Value*> inputs{p.input, constant(n, weight, Type::tensor()), or_none(p.bias),
                               or_none(c.other)};
    if (p.convolution) {
      for (const auto* list : {&p.stride, &p.padding, &p.dilation})
        inputs.push_back(integers(n, *list));
      inputs.push_back(constant(n, p.groups, Type::integer()));
    }
    inputs.push_back(constant(n, c.activation.name, Type::string()));
    inputs.push_back(constant(n, IValue(c.activation.parameters), Type::list(Type::floating())));
    Node* made = insert_call(graph_, p.convolution ? kConv : kLinear, inputs, n);
    facts_.replaced(c.last->output(), made->output());
    shapes_.replaced(c.last->output(), made->output());
    c.last->output()->replace_all_uses_with(made->output());
    for (auto it = c.nodes.rbegin(); it != c.nodes.rend(); ++it) (*it)->destroy();
    p.node->destroy();
    changed_ = true;
  }

  AliasFacts facts_;
  ShapeFacts shapes_;
};

}  // namespace

bool fuse_epilogues(Graph& g) {
  if (!find_operator(kConv) || !find_operator(kLinear)) return false;
  return Fusion(g).run();
}

}  // namespace tenon::jit
