// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums over dimensions, and norms of all elements.
#include "plugin_sparse/coo.h"
#include "tenon/sdk/ops/norm.h"
#include "tenon/sdk/ops/sum.h"

namespace tenon::coo {
namespace {

struct Kept {
  std::vector<int64_t> rows, sizes;  // of the indices
  std::vector<int64_t> dense;        // dimensions of the values that are summed
};

Kept what_stays(const Tensor& self, Ints dims) {
  uint64_t summed = 0;
  for (int64_t d : dims) summed |= uint64_t{1} << wrap_dim(d, self.ndim());
  Kept k;
  const int sparse = sparse_dim(self);
  for (int d = 0; d < self.ndim(); ++d) {
    const bool gone = summed >> d & 1;
    if (d < sparse && !gone) {
      k.rows.push_back(d);
      k.sizes.push_back(self.size(d));
    }
    if (d >= sparse && gone) k.dense.push_back(d - sparse + 1);
  }
  return k;
}

tn_status sum(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype) {
  Ops op(call);
  const tn_value as = dtype ? value(*dtype) : no_value();
  if (!dim || dim->empty()) {
    const Tensor total = op("sum", {value(values(self)), as});
    op.copy(out, op("reshape", {value(total), value(out.sizes())}));
    return TN_OK;
  }
  if (keepdim) return TN_DECLINED;
  const Kept k = what_stays(self, *dim);
  Tensor v = values(self);
  if (k.rows.empty()) {
    std::vector<int64_t> dense{0};
    dense.insert(dense.end(), k.dense.begin(), k.dense.end());
    op.copy(out, op("sum.dim_IntList", {value(v), value(span(dense)), value(false), as}));
    return TN_OK;
  }
  if (!k.dense.empty()) {
    v = op("sum.dim_IntList", {value(v), value(span(k.dense)), value(false), as});
  } else if (v.dtype() != out.dtype()) {
    v = op("to.dtype", {value(v), value(out.dtype())});
  }
  std::vector<Tensor> rows;
  for (int64_t d : k.rows) rows.push_back(op.row(indices(self), d));
  const bool same = k.rows.size() == static_cast<std::size_t>(sparse_dim(self));
  give(call, 0, same ? indices(self) : op.stack(rows, 0), v, same && coalesced(self));
  return TN_OK;
}
TN_KERNEL(sum_dim_IntList, sum, layouts("sparse_coo").any_strides().mixed_dtypes());

tn_status norm(Call& call, Tensor out, Tensor self, std::optional<Scalar> p, Ints dim, bool) {
  if (!dim.empty() && dim.size() != self.ndim()) return TN_DECLINED;
  Ops op(call);
  const Tensor v = coalesce(op, self).values;
  const Tensor total = op("norm.Scalar", {value(v), value(p.value_or(Scalar::of(int64_t{2})))});
  op.copy(out, op("reshape", {value(total), value(out.sizes())}));
  return TN_OK;
}
TN_KERNEL(norm_ScalarOpt_dim, norm, layouts("sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
