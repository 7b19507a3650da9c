// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scatters with duplicate indices: how the elements of an IndexLoop that have the same index are
// combined.
#pragma once

#include "plugin_cuda/device/indexed.cuh"

namespace tenon::cuda {

// How elements of `dense` with the same index are combined; Last keeps the last one.
enum class CombineOp : int32_t { Add, Multiply, Max, Min, Mean, Last };
struct CombineRule {
  CombineOp op;
  bool with_self = true;  // the element of self is included
  sdk::Scalar scale = sdk::Scalar::of(int64_t{1});
  bool distinct = false;  // no index occurs twice
};
inline CombineOp combine_op_of(sdk::Str s) {
  if (s == "sum") return CombineOp::Add;
  if (s == "prod") return CombineOp::Multiply;
  if (s == "mean") return CombineOp::Mean;
  return s == "amax" ? CombineOp::Max : CombineOp::Min;
}

// Whether positions are sorted by offset first, for a fixed order or to count them; otherwise
// atomics combine them.
bool combines_in_order(const sdk::Call& call, sdk::DType dtype, const CombineRule& how);
// Workspace for that, for a number of combinations of indices.
inline constexpr int64_t kMaxPlaces = int64_t{1} << 30;
uint64_t combine_workspace_bytes(int64_t combinations);
// out, the loop's other operand, = self combined with the elements.
tn_status combine_elements(const sdk::Call& call, IndexLoop& loop, const sdk::Tensor& out,
                           const sdk::Tensor& self, const CombineRule& how);

// The rule of scatter_reduce and index_reduce.
inline CombineRule combine_rule_of(const tn_call* call) {
  return {combine_op_of(sdk::Str(call->in[4].u.str, call->in[4].len)), call->in[5].u.i64 != 0};
}
// Workspace of a call whose first argument is combined with others: a fixed order needs a sort.
inline uint64_t combine_workspace_bytes(tn_call* call, int64_t combinations,
                                        const CombineRule& how) {
  const sdk::Tensor self(call->in[0].u.tensor);
  return combines_in_order(sdk::Call(call), self.dtype(), how)
             ? combine_workspace_bytes(combinations)
             : 0;
}

}  // namespace tenon::cuda
