// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/pattern.h"

#include <algorithm>

#include "jit/passes/values.h"
#include "tenon/ops.h"

namespace tenon::jit {

bool Inner::is_closed(const Node& last, const AliasFacts& facts) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const Node* n) {
    return std::all_of(n->outputs().begin(), n->outputs().end(), [&](const Value* v) {
      return !facts.has_writers(v) &&
             std::all_of(v->uses().begin(), v->uses().end(), [&](const Use& u) {
               return u.user == &last ||
                      std::find(nodes_.begin(), nodes_.end(), u.user) != nodes_.end();
             });
    });
  });
}

void replace_by(Node& last, const Node& made, AliasFacts& facts, ShapeFacts& shapes) {
  facts.replaced(last.output(), made.output());
  shapes.replaced(last.output(), made.output());
  last.output()->replace_all_uses_with(made.output());
  last.destroy();
}

bool same_number(double a, double b) {
  return a == b || static_cast<float>(a) == static_cast<float>(b);
}

std::optional<double> scalar_of(const Value* v) {
  if (const auto n = number_of(v)) return n;
  const auto t = tensor_of(v);
  if (!t || t->dim() != 0 || t->layout() != kStrided || t->is_complex()) return std::nullopt;
  return t->item().to<double>();
}

Node* call_of(const Value* v, std::string_view kind, std::size_t inputs) {
  Node* n = v->node();
  return n->is(kind) && n->op && n->inputs().size() == inputs ? n : nullptr;
}

namespace {

void add_factors(Value* v, Factors& out, Inner& inner, bool first) {
  if (const auto n = scalar_of(v)) {
    out.number *= *n;
    return;
  }
  const bool own = first || v->uses().size() == 1;
  Node* n = own ? call_of(v, "aten::mul", 2) : nullptr;
  if (!n && own) {
    Node* division = call_of(v, "aten::div", 2);
    const auto by = division ? scalar_of(division->input(1)) : std::nullopt;
    if (by && *by != 0) {
      if (!first) inner.add(division);
      out.number /= *by;
      return add_factors(division->input(0), out, inner, false);
    }
  }
  if (!n) {
    out.values.push_back(v);
    return;
  }
  if (!first) inner.add(n);
  add_factors(n->input(0), out, inner, false);
  add_factors(n->input(1), out, inner, false);
}

}  // namespace

Factors factors_of(Value* v, Inner& inner) {
  Factors out;
  add_factors(v, out, inner, true);
  return out;
}

bool is_sum(const Value* v, Value*& a, Value*& b) {
  const Node* n = call_of(v, "aten::add", 3);
  if (!n || !is_number(n->input(2), 1)) return false;
  a = n->input(0);
  b = n->input(1);
  return true;
}

Value* plus_number(Value* v, double number, Inner& inner) {
  Value *a = nullptr, *b = nullptr;
  if (!is_sum(v, a, b)) return nullptr;
  if (scalar_of(a)) std::swap(a, b);
  const auto n = scalar_of(b);
  if (!n || !same_number(*n, number)) return nullptr;
  inner.add(v->node());
  return a;
}

}  // namespace tenon::jit
