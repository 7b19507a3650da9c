// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The operators that fusion knows: each as nodes of a loop program.
#pragma once

#include "jit/fuse/body.h"
#include "tenon/jit/graph.h"

namespace tenon::jit::fuse {

// What a rule sees of a call. The operands are inputs of the node: tensors, or numbers.
class Call {
 public:
  Call(const Node& node, Body& body, ScalarType result) : body(body), result(result), node_(node) {}
  virtual ~Call() = default;
  const Node& node() const noexcept { return node_; }
  std::size_t inputs() const noexcept { return node_.inputs().size(); }
  // Operand i in its own dtype; numbers are int64 or float64.
  virtual Term raw(std::size_t i) = 0;
  // Operand i in `dtype`.
  virtual Term as(std::size_t i, ScalarType dtype) = 0;
  Term in(std::size_t i) { return as(i, result); }
  // The dtype in which two operands are compared.
  virtual ScalarType common(std::size_t i, std::size_t j) = 0;

  Body& body;
  const ScalarType result;  // the dtype that the operator gives

 private:
  const Node& node_;
};

// Nothing (node -1) where the loop program would not compute what the operator does.
using Rule = Term (*)(Call& call);

// Null if the node is none that can be fused: an operator that is not known, in place, or called in
// a way that the rule does not cover.
Rule rule_of(const Node& node);

}  // namespace tenon::jit::fuse
