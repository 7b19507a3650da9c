// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Softmax over the elements that a sparse tensor has: the others count as -inf, not as 0.
#include "plugin_sparse/coo/coo.h"
#include "plugin_sparse/coo/values_at.h"
#include "tenon/sdk/ops/_log_softmax.h"
#include "tenon/sdk/ops/_log_softmax_backward_data.h"
#include "tenon/sdk/ops/_softmax.h"
#include "tenon/sdk/ops/_softmax_backward_data.h"

namespace tenon::coo {
namespace {

// The index of the slice along dimension d that each element belongs to, 0 to n - 1.
struct Slices {
  Tensor of;
  int64_t n;
};

Slices slices(Ops& op, const Tensor& at, Ints sizes, int d) {
  std::vector<Tensor> rows;
  std::vector<int64_t> others;
  for (int i = 0; i < at.size(0); ++i) {
    if (i == d) continue;
    rows.push_back(op.row(at, i));
    others.push_back(sizes[i]);
  }
  if (rows.empty()) return {op.zeros(Ints(at.sizes().data() + 1, 1), kInt64, at.device()), 1};
  const Tensor keys = op.keys(op.stack(rows, 0), span(others));
  const std::vector<Tensor> sorted =
      op.call_many("sort.stable", {value(keys), value(true), value(int64_t{0}), value(false)}, 2);
  const std::vector<Tensor> runs =
      op.call_many("unique_consecutive", {value(sorted[0]), value(true), value(false)}, 3);
  const Tensor back = op.empty(keys.sizes(), kInt64, at.device());
  op("index_copy_", {value(back), value(int64_t{0}), value(sorted[1]), value(runs[1])});
  return {back, runs[0].numel()};
}

std::vector<int64_t> rows_like(int64_t n, const Tensor& v) {
  std::vector<int64_t> sizes = to_vector(v.sizes());
  sizes[0] = n;
  return sizes;
}

// For each element, the sum over its slice.
Tensor slice_sums(Ops& op, const Slices& s, const Tensor& v) {
  const Tensor sums = op.zeros(span(rows_like(s.n, v)), v.dtype(), v.device());
  op.add_rows_in_order(sums, s.of, v);
  return op.index_select(sums, 0, s.of);
}

Tensor over_slices(Ops& op, const Slices& s, const Tensor& v, bool log) {
  const Tensor max = op.zeros(span(rows_like(s.n, v)), v.dtype(), v.device());
  op("index_reduce_", {value(max), value(int64_t{0}), value(s.of), value(v),
                       value(std::string_view("amax")), value(false)});
  const Tensor x = op("sub.Tensor", {value(v), value(op.index_select(max, 0, s.of))});
  const Tensor e = op("exp", {value(x)});
  const Tensor sums = slice_sums(op, s, e);
  return log ? op("sub.Tensor", {value(x), value(op("log", {value(sums)}))})
             : op("div.Tensor", {value(e), value(sums)});
}

tn_status forward(Call& call, const Tensor& self, int64_t dim, bool half_to_float, bool log) {
  if (half_to_float) return TN_DECLINED;
  Ops op(call);
  const int d = wrap_dim(dim, self.ndim()), sparse = sparse_dim(self);
  const Coo t = coalesce(op, self);
  if (d >= sparse) {
    set_output(call,
               {t.indices, op(log ? "_log_softmax" : "_softmax",
                              {value(t.values), value(int64_t{d - sparse + 1}), value(false)})});
  } else if (t.values.size(0) == 0) {
    set_output(call, t);
  } else {
    set_output(call,
               {t.indices, over_slices(op, slices(op, t.indices, self.sizes(), d), t.values, log)});
  }
  return TN_OK;
}

tn_status backward(Call& call, const Tensor& grad, const Tensor& output, int64_t dim, DType dtype,
                   bool log) {
  if (is_strided(output)) return TN_DECLINED;
  Ops op(call);
  const int d = wrap_dim(dim, output.ndim()), sparse = sparse_dim(output);
  const Coo y = coalesce(op, output);
  const Tensor g = values_at(op, grad, y.indices);
  if (d >= sparse) {
    set_output(
        call,
        {y.indices, op(log ? "_log_softmax_backward_data" : "_softmax_backward_data",
                       {value(g), value(y.values), value(int64_t{d - sparse + 1}), value(dtype)})});
    return TN_OK;
  }
  const Slices s = slices(op, y.indices, output.sizes(), d);
  if (log) {
    const Tensor part =
        op("mul.Tensor", {value(op("exp", {value(y.values)})), value(slice_sums(op, s, g))});
    set_output(call, {y.indices, op("sub.Tensor", {value(g), value(part)})});
  } else {
    const Tensor inner = slice_sums(op, s, op("mul.Tensor", {value(g), value(y.values)}));
    set_output(call,
               {y.indices, op("mul.Tensor", {value(y.values),
                                             value(op("sub.Tensor", {value(g), value(inner)}))})});
  }
  return TN_OK;
}

tn_status softmax(Call& call, Tensor, Tensor self, int64_t dim, bool half_to_float) {
  return forward(call, self, dim, half_to_float, false);
}
TN_KERNEL(_softmax, softmax, layouts("sparse_coo").any_strides());

tn_status log_softmax(Call& call, Tensor, Tensor self, int64_t dim, bool half_to_float) {
  return forward(call, self, dim, half_to_float, true);
}
TN_KERNEL(_log_softmax, log_softmax, layouts("sparse_coo").any_strides());

tn_status softmax_backward(Call& call, Tensor, Tensor grad, Tensor output, int64_t dim,
                           DType dtype) {
  return backward(call, grad, output, dim, dtype, false);
}
TN_KERNEL(_softmax_backward_data, softmax_backward,
          layouts("strided|sparse_coo,sparse_coo").any_strides());

tn_status log_softmax_backward(Call& call, Tensor, Tensor grad, Tensor output, int64_t dim,
                               DType dtype) {
  return backward(call, grad, output, dim, dtype, true);
}
TN_KERNEL(_log_softmax_backward_data, log_softmax_backward,
          layouts("strided|sparse_coo,sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
