// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where two runs of a program part: the results of its nodes, one by one.
#pragma once

#include <string>
#include <vector>

#include "tenon/jit.h"

namespace tenon::command {

// A tensor that a node outside of branches and loops gave, as it was before later nodes wrote it.
struct NodeResult {
  std::string value, kind, place;  // "%x.3", "aten::relu", "code/model.py:12"
  Tensor tensor;
};

// Runs a method of a frozen module and keeps the results of its nodes, in their order.
std::vector<NodeResult> run_nodes(const jit::Module& frozen, const std::string& method,
                                  std::vector<IValue> arguments);

// A node beside what the other run has for it.
struct NodeComparison {
  const NodeResult* node;
  const NodeResult* other = nullptr;  // null: nothing of its dtype and shape
  double far = 0;                     // largest difference over largest value
};

// One program in two places: the results pair up in order. Error if the programs differ.
std::vector<NodeComparison> compare_in_order(const std::vector<NodeResult>& got,
                                             const std::vector<NodeResult>& expected);
// A program and a rewritten one, where nodes have been joined: each result beside the closest one
// of its dtype and shape.
std::vector<NodeComparison> compare_with_closest(const std::vector<NodeResult>& got,
                                                 const std::vector<NodeResult>& expected);

// The first node that is off by more than `allowed`, and a table of the furthest.
std::string report_nodes(const std::vector<NodeComparison>& nodes, double allowed);

}  // namespace tenon::command
