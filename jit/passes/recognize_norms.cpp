// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layer normalization that is written out: (x - mean) / sqrt(variance + eps) over the last
// dimension, by rsqrt or a power too, then a scale and a shift of that dimension.
#include <utility>

#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/pattern.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

// The operands of layer_norm by position.
enum Argument { kInput, kShape, kWeight, kBias, kEps, kCudnn, kArguments };

class NormRecognition final : public NodePass {
 public:
  explicit NormRecognition(Graph& g) : NodePass(g), facts_(g), shapes_(g) {}

 private:
  void visit(Node& n) override {
    if (!n.op || n.outputs().size() != 1 || !n.output()->type()->is(TypeKind::Tensor)) return;
    if (n.is("aten::div") && n.inputs().size() == 2) {
      Inner inner;
      if (Value* sum = power_of(n.input(1), "aten::sqrt", 0.5, inner))
        normalize(n, n.input(0), sum, inner);
    } else if (n.is("aten::mul") && n.inputs().size() == 2) {
      for (std::size_t i = 0; i < 2; ++i) {
        Inner inner;
        if (Value* sum = power_of(n.input(i), "aten::rsqrt", -0.5, inner))
          return normalize(n, n.input(1 - i), sum, inner);
        if (absorb(n, n.input(i), n.input(1 - i), kWeight)) return;
      }
    } else if (Value* a = nullptr, *b = nullptr; is_sum(n.output(), a, b)) {
      if (!absorb(n, a, b, kBias)) absorb(n, b, a, kBias);
    }
  }

  // What the function, or pow with that exponent, is of.
  static Value* power_of(Value* v, std::string_view function, double exponent, Inner& inner) {
    Node* n = call_of(v, function, 1);
    if (!n) {
      n = call_of(v, "aten::pow", 2);
      if (!n || !is_number(n->input(1), exponent)) return nullptr;
    }
    inner.add(n);
    return n->input(0);
  }

  bool is_last_dim(const Value* dims, const Value* of) const {
    const auto d = ints_of(dims);
    const auto rank = shapes_.of(of).rank();
    return d && d->size() == 1 && ((*d)[0] == -1 || (rank && (*d)[0] == *rank - 1));
  }

  // mean(of, -1, keepdim)
  bool is_mean(Value* v, const Value* of, Inner& inner) const {
    Node* n = call_of(v, "aten::mean", 4);
    if (!n || n->input(0) != of || !is_last_dim(n->input(1), of) ||
        !bool_of(n->input(2)).value_or(false) || !is_none(n->input(3)))
      return false;
    inner.add(n);
    return true;
  }

  // x of x - mean(x)
  Value* centered(Value* v, Inner& inner) const {
    Node* n = call_of(v, "aten::sub", 3);
    if (!n || !is_number(n->input(2), 1) || !is_mean(n->input(1), n->input(0), inner))
      return nullptr;
    inner.add(n);
    return n->input(0);
  }

  // The mean of the squares of `deviation`, or the variance of x, of all elements.
  bool is_variance(Value* v, Value* deviation, const Value* x, Inner& inner) const {
    Node* n = v->node();
    if (n->is("aten::var") && n->op && n->inputs().size() == 4) {
      const Value *unbiased = argument(*n, "unbiased"), *correction = argument(*n, "correction");
      const bool of_all =
          unbiased ? !bool_of(unbiased).value_or(true) : correction && is_number(correction, 0);
      if (n->input(0) != x || !of_all || !is_last_dim(argument(*n, "dim"), x) ||
          !bool_of(argument(*n, "keepdim")).value_or(false))
        return false;
      inner.add(n);
      return true;
    }
    if (!n->is("aten::mean") || n->inputs().empty()) return false;
    Value* squares = n->input(0);
    Node* square = call_of(squares, "aten::pow", 2);
    const bool by_pow = square && square->input(0) == deviation && is_number(square->input(1), 2);
    if (!by_pow) {
      square = call_of(squares, "aten::mul", 2);
      if (!square || square->input(0) != deviation || square->input(1) != deviation) return false;
    }
    inner.add(square);
    return is_mean(v, squares, inner);
  }

  void normalize(Node& n, Value* deviation, Value* sum, Inner& inner) {
    Value *variance = nullptr, *eps = nullptr;
    if (!is_sum(sum, variance, eps)) return;
    if (scalar_of(variance)) std::swap(variance, eps);
    const auto number = scalar_of(eps);
    inner.add(sum->node());
    Value* x = centered(deviation, inner);
    if (!number || !x || !is_variance(variance, deviation, x, inner)) return;
    const auto& dtype = shapes_.of(x).dtype;
    const auto size = shapes_.size(x, -1);
    // Shorter floats would be rounded after each of the operators.
    if (!size || (dtype != kFloat && dtype != kDouble) || facts_.has_writers(x) ||
        !inner.is_closed(n, facts_))
      return;
    const Graph::InsertPoint at(graph_, &n);
    const auto constant = [&](IValue v) { return graph_.insert_constant(std::move(v), n.range); };
    replace(n, {x, constant(IntArrayRef(*size)), constant(IValue()), constant(IValue()),
                constant(*number), constant(true)});
  }

  // by: as many elements as were normalized, of the same dtype.
  bool absorb(Node& n, Value* norm, Value* by, Argument place) {
    Node* made = call_of(norm, "aten::layer_norm", kArguments);
    if (!made || only_user(norm) != &n || !is_none(made->input(place)) ||
        !is_none(made->input(kBias)) || facts_.has_writers(norm) || facts_.has_writers(by))
      return false;
    const auto sizes = ints_of(made->input(kShape));
    const TensorFacts& of = shapes_.of(by);
    if (!sizes || sizes->size() != 1 || of.rank() != 1 || shapes_.size(by, 0) != (*sizes)[0] ||
        of.dtype != shapes_.of(made->input(kInput)).dtype)
      return false;
    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < kArguments; ++i) inputs.push_back(made->input(i));
    inputs[place] = by;
    const Graph::InsertPoint at(graph_, &n);
    replace(n, inputs);
    return true;
  }

  void replace(Node& n, const std::vector<Value*>& inputs) {
    Node* made = insert_call(graph_, "aten::layer_norm", inputs, n);
    replace_by(n, *made, facts_, shapes_);
    changed_ = true;
  }

  AliasFacts facts_;
  ShapeFacts shapes_;
};

}  // namespace

bool recognize_norms(Graph& g) { return NormRecognition(g).run(); }

}  // namespace tenon::jit
