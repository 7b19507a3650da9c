// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/shape_facts.h"

namespace tenon::jit {

const TensorFacts& ShapeFacts::of(const Value* v) const {
  static const TensorFacts nothing = [] {
    TensorFacts t;
    t.lead = -1;
    return t;
  }();
  const auto it = tensors_.find(v);
  return it == tensors_.end() ? nothing : it->second;
}

bool ShapeFacts::same_shape(const Value* a, const Value* b) const {
  const auto x = tensors_.find(a), y = tensors_.find(b);
  return x != tensors_.end() && y != tensors_.end() && x->second.lead == y->second.lead &&
         x->second.last == y->second.last;
}

bool ShapeFacts::same_shape_and_dtype(const Value* a, const Value* b) const {
  return same_shape(a, b) && of(a).dtype && of(a).dtype == of(b).dtype;
}

std::optional<int64_t> ShapeFacts::size(const Value* v, int64_t dim) const {
  const TensorFacts& t = of(v);
  const auto n = static_cast<int64_t>(t.last.size());
  if (dim >= 0 && t.lead != 0) return std::nullopt;
  const int64_t at = dim < 0 ? dim + n : dim;
  if (at < 0 || at >= n || t.last[static_cast<std::size_t>(at)] < 0) return std::nullopt;
  return t.last[static_cast<std::size_t>(at)];
}

std::optional<int64_t> ShapeFacts::rank_given_by(const Value* v) const {
  const auto it = ranks_.find(v);
  return it == ranks_.end() ? std::nullopt : std::optional(it->second);
}

void ShapeFacts::replaced(const Value* old, const Value* by) {
  if (auto it = tensors_.find(old); it != tensors_.end()) tensors_[by] = TensorFacts(it->second);
}

}  // namespace tenon::jit
