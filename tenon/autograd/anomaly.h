// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What AnomalyMode keeps and says. Private to libtenon.
#pragma once

#include <array>
#include <string>

#include "tenon/autograd/node.h"

namespace tenon::autograd {

struct AnomalyMetadata {
  std::string call;  // "mul.Tensor(float32 [2, 3], float32 [])"
  std::array<void*, 32> stack;
  int depth = 0;
  core::Ref<Node> parent;  // the node that ran when this call was made
};

// While AnomalyMode is on: remembers that the call made or wrote this tensor, unless its node
// remembers one already.
void remember_call(const std::string& call, core::TensorImpl* made);

// The node that this thread runs, for the calls that it makes.
class RunningNode {
 public:
  explicit RunningNode(Node& node);
  ~RunningNode();
  RunningNode(const RunningNode&) = delete;

 private:
  Node* before_;
};

// Passes to the warning handler what the node remembers, and what its parents do.
void warn_of_calls(Node& node);
// Error if one of the gradients that the node computed holds a NaN.
void refuse_nan(const Node& node, const Tensor* grads, uint32_t n);

}  // namespace tenon::autograd
