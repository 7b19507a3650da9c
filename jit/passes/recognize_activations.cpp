// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// gelu and silu that are written out: 0.5 * x * (1 + erf(x / sqrt(2))), the form with tanh, and
// x * sigmoid(x). Factors may stand in any order.
#include <algorithm>
#include <cmath>

#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/pattern.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

constexpr double kRootHalf = 0.70710678118654752440;  // sqrt(1 / 2)
constexpr double kRootTwoByPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;

// One factor is x, the other is given.
Value* other_factor(const Factors& f, const Value* x) {
  if (f.values.size() != 2) return nullptr;
  if (f.values[0] == x) return f.values[1];
  return f.values[1] == x ? f.values[0] : nullptr;
}

Value* argument_of(Value* v, std::string_view kind, Inner& inner) {
  Node* n = call_of(v, kind, 1);
  if (!n) return nullptr;
  inner.add(n);
  return n->input(0);
}

bool is_scaled(Value* v, const Value* x, double number, Inner& inner) {
  Inner own;
  const Factors f = factors_of(v, own);
  if (f.values.size() != 1 || f.values[0] != x || !same_number(f.number, number)) return false;
  inner.add(v->node());
  return true;
}

// 0.044715 * x ** n
bool is_power(Value* v, const Value* x, int power, Inner& inner) {
  const Factors f = factors_of(v, inner);
  if (!same_number(f.number, kCubic) || f.values.empty()) return false;
  inner.add(v->node());
  if (f.values.size() == 1) {
    Node* pow = call_of(f.values[0], "aten::pow", 2);
    if (!pow || pow->input(0) != x || !is_number(pow->input(1), power)) return false;
    inner.add(pow);
    return true;
  }
  return f.values.size() == static_cast<std::size_t>(power) &&
         std::all_of(f.values.begin(), f.values.end(), [&](const Value* v) { return v == x; });
}

// x + 0.044715 * x ** 3, times sqrt(2 / pi)
bool is_inside_of_tanh(Value* v, const Value* x, Inner& inner) {
  const Factors f = factors_of(v, inner);
  if (!same_number(f.number, kRootTwoByPi)) return false;
  inner.add(v->node());
  if (Value* sum = other_factor(f, x)) {  // x * (1 + 0.044715 * x ** 2)
    Value* power = plus_number(sum, 1, inner);
    return power && is_power(power, x, 2, inner);
  }
  Value *a = nullptr, *b = nullptr;
  if (f.values.size() != 1 || !is_sum(f.values[0], a, b)) return false;
  inner.add(f.values[0]->node());
  if (b == x) std::swap(a, b);
  return a == x && is_power(b, x, 3, inner);
}

class ActivationRecognition final : public NodePass {
 public:
  explicit ActivationRecognition(Graph& g) : NodePass(g), facts_(g), shapes_(g) {}

 private:
  void visit(Node& n) override {
    if (n.is("aten::mul") && n.op && n.output()->type()->is(TypeKind::Tensor)) product(n);
  }

  void product(Node& n) {
    Inner inner;
    const Factors f = factors_of(n.output(), inner);
    if (f.values.size() != 2) return;
    for (std::size_t i = 0; i < 2; ++i)
      if (try_forms(n, f.values[i], f.values[1 - i], f.number, inner)) return;
  }

  bool try_forms(Node& n, Value* x, Value* other, double number, const Inner& before) {
    const auto& dtype = shapes_.of(x).dtype;
    if (!dtype || !isFloatingType(*dtype) || facts_.has_writers(x)) return false;
    Inner inner = before;
    if (number == 1 && argument_of(other, "aten::sigmoid", inner) == x)
      return replace(n, inner, "aten::silu", {x});
    inner = before;
    if (number != 0.5) return false;
    Value* inside = plus_number(other, 1, inner);
    if (!inside) return false;
    Inner by_erf = inner, by_tanh = inner;
    Value* erf = argument_of(inside, "aten::erf", by_erf);
    if (erf && is_scaled(erf, x, kRootHalf, by_erf)) return gelu(n, by_erf, x, "none");
    Value* tanh = argument_of(inside, "aten::tanh", by_tanh);
    return tanh && is_inside_of_tanh(tanh, x, by_tanh) && gelu(n, by_tanh, x, "tanh");
  }

  bool gelu(Node& n, const Inner& inner, Value* x, const char* how) {
    if (!inner.is_closed(n, facts_)) return false;
    const Graph::InsertPoint at(graph_, &n);
    return replace(n, inner, "aten::gelu",
                   {x, graph_.insert_constant(IValue(std::string(how)), n.range)});
  }

  bool replace(Node& n, const Inner& inner, const char* kind, const std::vector<Value*>& inputs) {
    if (!inner.is_closed(n, facts_)) return false;
    const Graph::InsertPoint at(graph_, &n);
    Node* made = insert_call(graph_, kind, inputs, n);
    replace_by(n, *made, facts_, shapes_);
    return changed_ = true;
  }

  AliasFacts facts_;
  ShapeFacts shapes_;
};

}  // namespace

bool recognize_activations(Graph& g) { return ActivationRecognition(g).run(); }

}  // namespace tenon::jit
