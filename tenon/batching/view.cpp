// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Views of batched tensors are views of the values.
#include "tenon/batching/rules.h"
#include "tenon/ops.h"

namespace tenon::batching::rules {
namespace {

std::vector<int64_t> ints(const tn_value& v) { return {v.u.i64s, v.u.i64s + v.len}; }

}  // namespace

Results view(Call& call) {
  return SameOperator(call).set(0, call.front(0)).set(1, call.result_sizes(0)).run();
}

Results as_strided(Call& call) {
  const Tensor slices = call.front(0);
  std::vector<int64_t> strides = ints(call.in[2]);
  strides.insert(strides.begin(), slices.stride(0));
  return SameOperator(call).set(0, slices).set(1, call.result_sizes(0)).set(2, strides).run();
}

Results expand(Call& call) {
  return SameOperator(call)
      .set(0, call.aligned(0, call.one.out[0].ndim))
      .set(1, call.result_sizes(0))
      .run();
}

Results permute(Call& call) {
  std::vector<int64_t> dims = ints(call.in[1]);
  for (int64_t& d : dims) d = shifted(d, call.rank(0));
  dims.insert(dims.begin(), 0);
  return SameOperator(call).set(0, call.front(0)).set(1, dims).run();
}

Results t(Call& call) {
  const Tensor slices = call.front(0);
  return {slices.dim() < 3 ? slices.alias() : slices.transpose(1, 2)};
}

Results unsqueeze(Call& call) {
  return SameOperator(call)
      .set(0, call.front(0))
      .set(1, shifted(call.in[1].u.i64, call.rank(0) + 1))
      .run();
}

Results squeeze(Call& call) {
  const Tensor slices = call.front(0);
  std::vector<int64_t> dims;
  for (int64_t d = 1; d < slices.dim(); ++d) {
    if (slices.size(d) == 1) dims.push_back(d);
  }
  return {slices.squeeze(dims)};
}

}  // namespace tenon::batching::rules
