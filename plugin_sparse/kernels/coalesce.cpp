// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Each element once, in row-major order.
#include "plugin_sparse/cpu/loops.h"
#include "tenon/sdk/ops/_coalesce.h"

namespace tenon::coo {

namespace {

Coo composed(Ops& op, const Tensor& indices, const Tensor& values, Ints sizes) {
  const Ints sparse(sizes.data(), indices.size(0));
  // A stable order, so that the sum of an element is always taken in the order of its values.
  const std::vector<Tensor> sorted = op.call_many(
      "sort.stable",
      {value(op.keys(indices, sparse)), value(true), value(int64_t{0}), value(false)}, 2);
  const std::vector<Tensor> runs =
      op.call_many("unique_consecutive", {value(sorted[0]), value(true), value(false)}, 3);
  const Tensor in_order = op.index_select(values, 0, sorted[1]);
  const std::vector<int64_t> of_sums = value_sizes(runs[0].numel(), values.sizes(), 1);
  const Tensor sums = op.zeros(span(of_sums), values.dtype(), values.device());
  op.add_rows(sums, runs[1], in_order);
  return {op.columns(runs[0], sparse), sums};
}

tn_status kernel(Call& call, Tensor, Tensor self) {
  Ops op(call);
  const auto run = on_host(self) ? loops::coalesce : composed;
  set_output(call, run(op, indices(self), values(self), self.sizes()));
  return TN_OK;
}
TN_KERNEL(_coalesce, kernel, layouts("sparse_coo").any_strides());

}  // namespace

// Calls the operator, so that the other kernels use a device's own implementation.
Coo coalesce(Ops& op, const Tensor& t) {
  if (coalesced(t)) return {indices(t), values(t)};
  if (on_host(t)) return loops::coalesce(op, indices(t), values(t), t.sizes());
  const Tensor sums = op("_coalesce", {value(t)});
  return {indices(sums), values(sums)};
}

Coo coalesce(Ops& op, const Tensor& indices, const Tensor& values, Ints sizes) {
  return coalesce(op, op("_sparse_coo_tensor", {value(indices), value(values), value(sizes),
                                                value(false), value(false)}));
}

}  // namespace tenon::coo
