// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A call with batched tensors: what rules read and write. Private to libtenon.
//
// A rule computes the slices of all results at once, by operators on the values of the arguments,
// which have the slices along dimension 0. Those operators are recorded as any others, and where
// their arguments are batched by an outer vmap they are calls of this kind again.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/batching/level.h"
#include "tenon/core/infer.h"

namespace tenon::batching {

// One per result of the operator, undefined where it gives none; slices along dimension 0.
using Results = std::vector<Tensor>;

class Call {
 public:
  Call(const core::Op& op, const tn_value* in, core::Form form, BatchLevel& level);
  Call(const Call&) = delete;

  const core::Op& op;
  const tn_value* in;
  const core::Form form;
  BatchLevel& level;
  const int64_t size;    // how many slices
  core::Infer one;       // what the operator says of one slice: shapes and dtypes of its results
  bool written = false;  // of an in-place call: a rule has written to argument 0 itself

  int position(std::string_view argument) const;  // -1 if the operator has no such argument
  bool is_tensor(int i) const { return in[i].tag == TN_TAG_TENSOR; }
  bool is_batched(int i) const { return is_tensor(i) && is_batched_at(given(i), level); }
  bool any_batched(std::initializer_list<int> arguments) const;
  Tensor given(int i) const;
  std::vector<Tensor> given_list(int i) const;  // undefined where there is none
  int64_t rank(int i) const { return core::TensorImpl::from_view(in[i].u.tensor)->ndim(); }
  // Of argument i, or of a tensor of a list: [slices, sizes...] if it is batched, else as given.
  Tensor front(int i) const { return front(given(i)); }
  Tensor front(const Tensor& t) const;
  // With ones after the slices, so that there are `rank` dimensions beside them.
  Tensor aligned(int i, int64_t rank) const { return aligned(given(i), rank); }
  Tensor aligned(const Tensor& t, int64_t rank) const;
  // [slices, sizes...] in any case.
  Tensor expanded(int i) const { return expanded(given(i)); }
  Tensor expanded(const Tensor& t) const;
  // [slices, sizes of result k of a slice...]
  std::vector<int64_t> result_sizes(int k) const;
};

// The same operator on other arguments.
class SameOperator {
 public:
  explicit SameOperator(Call& call);
  SameOperator(const SameOperator&) = delete;
  SameOperator& set(int i, Tensor t);
  SameOperator& set(int i, const std::vector<Tensor>& list);
  SameOperator& set(int i, std::vector<int64_t> list);
  SameOperator& set(int i, int64_t v);
  // In place where the call is: argument 0 must share the memory of that of the call.
  Results run();
  const tn_value* values() const { return in_; }

 private:
  Call& call_;
  tn_value in_[core::kMaxArgs];
  std::vector<Tensor> tensors_;
  std::vector<std::vector<const tn_tensor*>> tensor_lists_;
  std::vector<std::vector<int64_t>> int_lists_;
};

using Rule = Results (*)(Call&);
// Null for operators that have none: they are called slice by slice.
Rule rule_of(const core::Op& op);
// An operator call for each slice, and the results stacked. TypeError where a view is wanted.
Results call_slice_by_slice(Call& call);

// core::BatchedCall.
bool call_batched(const core::Op& op, const tn_value* in, core::TensorImpl** outs, core::Form form);
// The innermost level among the tensors of a call; null if there is none. Error if it has returned.
BatchLevel* level_of(const core::Op& op, const tn_value* in, core::TensorImpl* const* outs,
                     core::Form form);
// Whether an argument is batched, by any level.
bool has_batched(const core::Op& op, const tn_value* in);

// Dimension `d` of a slice of `rank` dimensions among those of all slices. Checked before.
inline int64_t shifted(int64_t d, int64_t rank) { return (d < 0 ? d + (rank ? rank : 1) : d) + 1; }

}  // namespace tenon::batching
