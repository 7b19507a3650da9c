// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/jit/graph.h"
#include "tenon/jit/operator.h"

namespace tenon::jit {

// What an operator computes by other ones.
struct OperatorParts {
  // Its inputs are the arguments `inputs`, in their order; the others and all sizes are constants.
  // One output: the operator's result, or a tuple of them.
  std::shared_ptr<Graph> graph;
  std::string baked;  // the first value of a tensor that became a constant; empty: there is none
};

// Whether it is a host operator that only calls operators of Tenon on tensors.
TENON_API bool is_made_of_operators(const Operator& op);

// Runs a composite, a host operator made of operators, or the decomposition of an operator that has
// kernels, and records the calls. Results have the dtypes of the operator's. No graph if it is none
// of these, or writes in place or into given outputs. `inputs`: positions of arguments that are
// tensors or lists of tensors. Throws what the operator throws.
TENON_API OperatorParts record_parts(const Operator& op, const std::vector<IValue>& arguments,
                                     const std::vector<std::size_t>& inputs);

}  // namespace tenon::jit
