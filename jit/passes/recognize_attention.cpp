// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// softmax(q @ k.transpose(-2, -1) * scale + mask) @ v as one node.
#include "jit/passes/node_pass.h"
#include "jit/passes/passes.h"
#include "jit/passes/pattern.h"
#include "jit/passes/shape_facts.h"
#include "jit/passes/values.h"

namespace tenon::jit {
namespace {

struct Attention {
  Value *query = nullptr, *key_transposed = nullptr, *value = nullptr, *mask = nullptr;
  double scale = 1;
  Inner inner;
};

Node* product_of(const Value* v) {
  Node* n = call_of(v, "aten::matmul", 2);
  return n ? n : call_of(v, "aten::bmm", 2);
}

class AttentionRecognition final : public NodePass {
 public:
  explicit AttentionRecognition(Graph& g) : NodePass(g), facts_(g), shapes_(g) {}

 private:
  void visit(Node& n) override {
    if (n.outputs().size() == 1 && product_of(n.output())) try_product(n);
  }

  // Batches of matrices of one floating dtype.
  bool is_batch(const Value* v, std::optional<ScalarType>& dtype) const {
    const TensorFacts& t = shapes_.of(v);
    if (t.last.size() < 2 || !t.dtype || !isFloatingType(*t.dtype)) return false;
    if (!dtype) dtype = t.dtype;
    return dtype == t.dtype && !facts_.has_writers(v);
  }

  void try_product(Node& n) {
    Attention a;
    Node* softmax = call_of(n.input(0), "aten::softmax", 3);
    if (!softmax || !is_number(softmax->input(1), -1) || !is_none(softmax->input(2))) return;
    a.value = n.input(1);
    a.inner.add(softmax);
    std::optional<ScalarType> dtype;
    if (!scores(softmax->input(0), a) || !a.inner.is_closed(n, facts_)) return;
    for (const Value* v : {a.query, a.key_transposed, a.value})
      if (!is_batch(v, dtype)) return;
    if (a.mask && (shapes_.of(a.mask).dtype != dtype || facts_.has_writers(a.mask))) return;
    replace(n, a);
  }

  bool scores(Value* v, Attention& a) {
    Value *x = nullptr, *y = nullptr;
    if (is_sum(v, x, y)) {
      if (!x->type()->is(TypeKind::Tensor) || !y->type()->is(TypeKind::Tensor)) return false;
      a.inner.add(v->node());
      Inner before = a.inner;
      a.mask = y;
      if (scaled_product(x, a)) return true;
      a.inner = before;
      a.mask = x;
      return scaled_product(y, a);
    }
    return scaled_product(v, a);
  }

  bool scaled_product(Value* v, Attention& a) {
    Value* product = v;
    a.scale = 1;
    if (!product_of(v)) {
      const Factors f = factors_of(v, a.inner);
      if (f.values.size() != 1) return false;
      a.inner.add(v->node());
      a.scale = f.number;
      product = f.values[0];
    }
    const Node* n = product_of(product);
    if (!n) return false;
    a.inner.add(n);
    a.query = n->input(0);
    a.key_transposed = n->input(1);
    return true;
  }

  // The value whose last two dimensions are exchanged in v.
  Value* transposed(Value* v, const Node& like) {
    if (const Node* n = call_of(v, "aten::transpose", 3)) {
      const auto i = int_of(n->input(1)), j = int_of(n->input(2));
      const auto rank = shapes_.of(v).rank();
      const auto back = [&](int64_t d) { return d >= 0 && rank ? d - *rank : d; };
      if (i && j && back(*i) + back(*j) == -3 && back(*i) * back(*j) == 2 &&
          !facts_.has_writers(n->input(0)))
        return n->input(0);
    }
    const auto number = [&](int64_t d) { return graph_.insert_constant(d, like.range); };
    return insert_call(graph_, "aten::transpose.int", {v, number(-2), number(-1)}, like)->output();
  }

  void replace(Node& n, const Attention& a) {
    const Graph::InsertPoint at(graph_, &n);
    const auto constant = [&](IValue v) { return graph_.insert_constant(std::move(v), n.range); };
    Value* key = transposed(a.key_transposed, n);
    Value* mask = a.mask ? a.mask : constant(IValue());
    Node* made = insert_call(graph_, "aten::scaled_dot_product_attention",
                             {a.query, key, a.value, mask, constant(0.0), constant(false),
                              constant(a.scale), constant(false)},
                             n);
    replace_by(n, *made, facts_, shapes_);
    changed_ = true;
  }

  AliasFacts facts_;
  ShapeFacts shapes_;
};

}  // namespace

bool recognize_attention(Graph& g) { return AttentionRecognition(g).run(); }

}  // namespace tenon::jit
