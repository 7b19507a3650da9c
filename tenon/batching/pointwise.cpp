// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tenon/batching/rules.h"
#include "tenon/ops.h"

namespace tenon::batching::rules {
namespace {

// A 0-dim slice promotes as a 0-dim tensor does; its values have a dimension, and are cast before.
Tensor promoted(const Call& call, int i, const Tensor& t) {
  const ScalarType to = call.one.compute;
  const bool operand = call.one.operands >> i & 1;
  const bool written = i == 0 && call.form == core::Form::Inplace;
  return operand && !written && call.rank(i) == 0 && to != ScalarType::Undefined ? t.to(to) : t;
}

}  // namespace

Results pointwise(Call& call) {
  int64_t rank = 0;
  for (int i = 0; i < call.op.n_args; ++i) {
    if (call.is_tensor(i)) rank = std::max(rank, call.rank(i));
  }
  SameOperator all(call);
  for (int i = 0; i < call.op.n_args; ++i) {
    if (call.is_batched(i)) all.set(i, promoted(call, i, call.aligned(i, rank)));
  }
  return all.run();
}

Results copy(Call& call) {
  SameOperator all(call);
  all.set(0, call.expanded(0));
  if (call.is_batched(1)) all.set(1, call.aligned(1, call.rank(0)));
  return all.run();
}

Results clone(Call& call) {
  const Tensor slices = call.front(0);
  const int64_t format = call.in[1].tag == TN_TAG_NONE ? 0 : call.in[1].u.i64;
  if (format != static_cast<int64_t>(MemoryFormat::ChannelsLast) &&
      format != static_cast<int64_t>(MemoryFormat::ChannelsLast3d))
    return SameOperator(call).set(0, slices).run();
  Results r = SameOperator(call).set(0, slices.flatten(0, 1)).run();
  r[0] = r[0].unflatten(0, {call.size, slices.size(1)});
  return r;
}

Results fill_tensor(Call& call) {
  const Tensor value = call.aligned(1, call.rank(0));
  if (call.form == core::Form::Inplace) {
    call.written = true;
    call.front(0).copy_(value);
    return {};
  }
  return {empty_like(call.expanded(0)).copy_(value)};
}

Results masked_fill_tensor(Call& call) {
  const int64_t rank = std::max(call.rank(0), call.rank(1));
  const Tensor self = call.aligned(0, rank), mask = call.aligned(1, rank);
  const Tensor value = call.aligned(2, rank).to(self.scalar_type());
  return {where(mask, value, self)};
}

}  // namespace tenon::batching::rules
