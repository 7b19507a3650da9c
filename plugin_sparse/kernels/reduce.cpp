// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums over dimensions, and norms of all elements.
#include <cmath>

#include "plugin_sparse/coo/coo.h"
#include "tenon/sdk/ops/norm.h"
#include "tenon/sdk/ops/sum.h"

namespace tenon::coo {
namespace {

// The rows of the indices that are kept, and the dimensions of the values that are summed.
struct Kept {
  std::vector<int64_t> rows, dense;
  uint64_t summed = 0;
};

Kept split_dims(const Tensor& self, Ints dims) {
  Kept k;
  for (int64_t d : dims) k.summed |= uint64_t{1} << wrap_dim(d, self.ndim());
  const int sparse = sparse_dim(self);
  for (int d = 0; d < self.ndim(); ++d) {
    const bool gone = k.summed >> d & 1;
    if (d < sparse && !gone) k.rows.push_back(d);
    if (d >= sparse && gone) k.dense.push_back(d - sparse + 1);
  }
  return k;
}

// Those of the sum: with keepdim, 0 in the dimensions that are summed.
Tensor kept_indices(Ops& op, const Tensor& self, const Kept& k, bool keepdim) {
  const Tensor at = indices(self);
  if (k.rows.size() == static_cast<std::size_t>(at.size(0))) return at;
  std::vector<Tensor> rows;
  for (int d = 0; d < at.size(0); ++d) {
    if (!(k.summed >> d & 1))
      rows.push_back(op.row(at, d));
    else if (keepdim)
      rows.push_back(op.zeros(Ints(at.sizes().data() + 1, 1), kInt64, at.device()));
  }
  return op.stack(rows, 0);
}

tn_status sum(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool keepdim,
              std::optional<DType> dtype) {
  Ops op(call);
  const tn_value as = dtype ? value(*dtype) : no_value();
  const bool all = !dim || dim->empty();
  const Kept k = all ? Kept{} : split_dims(self, *dim);
  Tensor v = values(self);
  if (k.rows.empty()) {
    std::vector<int64_t> summed{0};
    for (int d = 1; all && d < v.ndim(); ++d) summed.push_back(d);
    summed.insert(summed.end(), k.dense.begin(), k.dense.end());
    const Tensor total = op("sum.dim_IntList", {value(v), value(span(summed)), value(false), as});
    op.copy(out, op("reshape", {value(total), value(out.sizes())}));
    return TN_OK;
  }
  if (!k.dense.empty()) {
    v = op("sum.dim_IntList", {value(v), value(span(k.dense)), value(keepdim), as});
  } else if (v.dtype() != out.dtype()) {
    v = op("to.dtype", {value(v), value(out.dtype())});
  }
  const bool same = k.rows.size() == static_cast<std::size_t>(sparse_dim(self));
  set_output(call, 0, kept_indices(op, self, k, keepdim), v, same && coalesced(self));
  return TN_OK;
}
TN_KERNEL(sum_dim_IntList, sum, layouts("sparse_coo").any_strides().mixed_dtypes());

// A norm along some dimensions, of the p-th powers' sums. Other norms are not sums.
tn_status norm_along(Call& call, const Tensor& out, const Tensor& self, double p, Ints dim) {
  if (!(p > 0) || std::isinf(p)) return TN_DECLINED;
  Ops op(call);
  const Coo t = coalesce(op, self);
  const Tensor powers = op("pow.Tensor_Scalar", {value(op("abs", {value(t.values)})), value(p)});
  const Tensor of_powers =
      op("_sparse_coo_tensor",
         {value(t.indices), value(powers), value(self.sizes()), value(false), value(true)});
  Tensor total = op("sum.dim_IntList", {value(of_powers), value(dim), value(false), no_value()});
  if (!is_strided(total)) total = op("_to_dense", {value(total)});
  op.copy(out, op("reshape", {value(op("pow.Tensor_Scalar", {value(total), value(1 / p)})),
                              value(out.sizes())}));
  return TN_OK;
}

tn_status norm(Call& call, Tensor out, Tensor self, std::optional<Scalar> p, Ints dim, bool) {
  const Scalar power = p.value_or(Scalar::of(int64_t{2}));
  if (!dim.empty() && dim.size() != self.ndim())
    return norm_along(call, out, self, power.to<double>(), dim);
  Ops op(call);
  const Tensor total = op("norm.Scalar", {value(coalesce(op, self).values), value(power)});
  op.copy(out, op("reshape", {value(total), value(out.sizes())}));
  return TN_OK;
}
TN_KERNEL(norm_ScalarOpt_dim, norm, layouts("sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
