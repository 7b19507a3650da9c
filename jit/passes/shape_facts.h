// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What is known of tensors before a program runs: dtype, rank, and sizes, as numbers or as symbols.
// Two sizes that are computed in one way from the same sizes have one symbol, so that equal shapes
// are known without their numbers. Computed for the graph as it is: rebuild it after a change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenon/jit/graph.h"

namespace tenon::jit {

struct TensorFacts {
  std::optional<ScalarType> dtype;
  int64_t lead = 0;           // the leading sizes, as one symbol; 0: there are none
  std::vector<int64_t> last;  // the sizes after those: a number, or below 0 a symbol
  std::optional<int64_t> rank() const {
    if (lead != 0) return std::nullopt;
    return static_cast<int64_t>(last.size());
  }
};

class ShapeFacts {
 public:
  explicit ShapeFacts(const Graph& g);
  // Of a tensor; of another value nothing is known.
  const TensorFacts& of(const Value* v) const;
  // The two are tensors of one shape and one dtype, whatever those are.
  bool same_shape(const Value* a, const Value* b) const;
  bool same_shape_and_dtype(const Value* a, const Value* b) const;
  // The size of a dimension as a number.
  std::optional<int64_t> size(const Value* v, int64_t dim) const;
  // False: tensors change their shapes in place, and nothing is known.
  bool usable() const noexcept { return usable_; }
  // The operator gives a tensor of the rank of its first argument.
  static bool keeps_rank(const Node& n);
  // What the node aten::dim that gives `v` gives.
  std::optional<int64_t> rank_given_by(const Value* v) const;
  // A pass put `by` in the place of `old`.
  void replaced(const Value* old, const Value* by);

 private:
  friend class ShapeRules;
  bool usable_ = true;
  std::unordered_map<const Value*, TensorFacts> tensors_;
  std::unordered_map<const Value*, int64_t> numbers_;  // sizes that are values of the program
  std::unordered_map<const Value*, int64_t> ranks_;    // of aten::dim, known where it stands
};

}  // namespace tenon::jit
