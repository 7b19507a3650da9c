// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Decision trees as tables of nodes. All rows go down all trees at once, a level in each step; a
// leaf leads to itself.
#pragma once

#include <vector>

#include "onnx/import/builder.h"

namespace tenon::onnx {

// How a node compares, as TreeEnsemble numbers it.
enum Mode : int64_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
enum class Aggregate : int64_t { Average, Sum, Min, Max };

struct Forest {
  // Of each node. Leaves have feature 0, a NaN as split, and lead to themselves.
  std::vector<int64_t> features, modes, yes, no, missing;
  std::vector<double> splits;
  std::vector<std::vector<double>> members;  // of the nodes of mode kMember, in their order
  std::vector<int64_t> roots;

  std::size_t size() const { return features.size(); }
  void resize(std::size_t n);
};

// What the leaves give: (node, target, weight).
struct LeafWeights {
  std::vector<int64_t> nodes, targets;
  std::vector<double> weights;
  int64_t n_targets = 1;
};

// The scores of the rows of x, [rows, n_targets], in the type of `weights`. ValueError if a node
// leads back to itself.
Value* score_forest(Builder& b, const ItemPtr& x, const Forest& forest, const LeafWeights& leaves,
                    Aggregate aggregate, ScalarType splits, ScalarType weights);

}  // namespace tenon::onnx
