// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Parts of graphs that are written out by hand, found from their last node.
#pragma once

#include <vector>

#include "jit/ir/alias.h"
#include "jit/passes/shape_facts.h"
#include "tenon/jit/graph.h"

namespace tenon::jit {

// The nodes that a pattern takes in, but for its last.
class Inner {
 public:
  void add(const Node* n) { nodes_.push_back(n); }
  // Nobody else uses what they give, and nobody writes it.
  bool is_closed(const Node& last, const AliasFacts& facts) const;

 private:
  std::vector<const Node*> nodes_;
};

// `made`, which stands before `last`, gives its only result from now on. What was inside is dead
// code.
void replace_by(Node& last, const Node& made, AliasFacts& facts, ShapeFacts& shapes);

// A product, taken apart: a number times values. Products in it that have another use are values.
struct Factors {
  double number = 1;
  std::vector<Value*> values;
};
Factors factors_of(Value* v, Inner& inner);
// The other operand of x + number; null if it is something else.
Value* plus_number(Value* v, double number, Inner& inner);
// Both operands of a sum with factor 1.
bool is_sum(const Value* v, Value*& a, Value*& b);
// Equal as doubles, or as the floats nearest to them.
bool same_number(double a, double b);
// A number, or a tensor constant without dimensions.
std::optional<double> scalar_of(const Value* v);
// What a call of the operator is made of; null if the value is no such call.
Node* call_of(const Value* v, std::string_view kind, std::size_t inputs);

}  // namespace tenon::jit
