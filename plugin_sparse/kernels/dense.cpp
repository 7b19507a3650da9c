// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// To strided tensors, and from them.
#include "plugin_sparse/coo/values_at.h"
#include "plugin_sparse/cpu/loops.h"
#include "tenon/sdk/ops/_at_elements_of.h"
#include "tenon/sdk/ops/_to_dense.h"
#include "tenon/sdk/ops/_to_layout.h"
#include "tenon/sdk/ops/_values_at.h"
#include "tenon/sdk/ops/sparse_mask.h"
#include "tenon/sdk/ops/to_sparse.h"

namespace tenon::coo {
namespace {

// A strided tensor with its first dimensions as one.
Tensor rows_of(Ops& op, const Tensor& t, int sparse) {
  std::vector<int64_t> sizes = value_sizes(1, t.sizes(), sparse);
  for (int d = 0; d < sparse; ++d) sizes[0] *= t.size(d);
  return op("reshape", {value(t), value(span(sizes))});
}

Ints first(const Tensor& t, int n) { return {t.sizes().data(), n}; }

}  // namespace

// Rows of a strided tensor; of a sparse one the elements that it has, found among its sorted keys.
Tensor values_at(Ops& op, const Tensor& self, const Tensor& at) {
  const int sparse = static_cast<int>(at.size(0));
  if (is_strided(self)) return op.gather_rows(self, at);
  if (sparse != sparse_dim(self))
    throw Error(TN_ERROR_VALUE, "the tensor has ", int64_t{sparse_dim(self)},
                " sparse dimensions, the indices address ", int64_t{sparse});
  const Coo own = coalesce(op, self);
  const std::vector<int64_t> sizes = value_sizes(at.size(1), self.sizes(), sparse);
  if (on_host(self)) {
    const Tensor out = op.empty(span(sizes), self.dtype(), self.device());
    loops::gather(op, out, own, first(self, sparse), at);
    return out;
  }
  if (own.values.size(0) == 0) return op.zeros(span(sizes), self.dtype(), self.device());
  const Tensor have = op.keys(own.indices, first(self, sparse)),
               keys = op.keys(at, first(self, sparse));
  Tensor place = op("searchsorted.Tensor", {value(have), value(keys)});
  place = op("clamp", {value(place), value(int64_t{0}), value(have.numel() - 1)});
  const Tensor found = op("eq.Tensor", {value(op.index_select(have, 0, place)), value(keys)});
  std::vector<int64_t> column(static_cast<std::size_t>(own.values.ndim()), 1);
  column[0] = at.size(1);
  const Tensor mask = op("reshape", {value(found), value(span(column))});
  return op("where.ScalarOther",
            {value(mask), value(op.index_select(own.values, 0, place)), value(int64_t{0})});
}

namespace {

tn_status to_dense(Call& call, Tensor out, Tensor self, std::optional<DType>, std::optional<bool>) {
  Ops op(call);
  const int sparse = sparse_dim(self);
  const bool direct = out.contiguous() && out.dtype() == self.dtype();
  const Tensor sums = direct ? out : op.empty(self.sizes(), self.dtype(), self.device());
  op("zero_", {value(sums)});
  if (on_host(self)) {
    const Coo own = coalesce(op, self);
    loops::scatter(op, sums, own, Scalar(), true);
  } else if (nnz(self) > 0) {
    op.add_rows(op("view", {value(sums), value(rows_of(op, sums, sparse).sizes())}),
                op.keys(indices(self), first(self, sparse)), values(self));
  }
  if (!direct) op.copy(out, sums);
  return TN_OK;
}
TN_KERNEL(_to_dense, to_dense, layouts("sparse_coo").any_strides().mixed_dtypes());

void sparse_from(Call& call, const Tensor& self, int64_t sparse) {
  if (sparse < 0 || sparse > self.ndim() || (sparse == 0 && self.ndim() > 0))
    throw Error(TN_ERROR_VALUE, "sparse_dim must be from 1 to ", self.ndim(), ", got ", sparse);
  Ops op(call);
  Tensor filled = op("ne.Scalar", {value(self), value(int64_t{0})});
  if (sparse < self.ndim()) {
    std::vector<int64_t> dense;
    for (int64_t d = sparse; d < self.ndim(); ++d) dense.push_back(d);
    filled = op("any.dims", {value(filled), value(span(dense))});
  }
  const Tensor at = op("t", {value(op("nonzero", {value(filled)}))});
  const Ints sizes(self.sizes().data(), sparse);
  set_output(call, 0, op("contiguous", {value(at)}),
             op.index_select(rows_of(op, self, static_cast<int>(sparse)), 0, op.keys(at, sizes)),
             true);
}

tn_status to_sparse(Call& call, Tensor, Tensor self, int64_t sparse) {
  sparse_from(call, self, sparse);
  return TN_OK;
}
TN_KERNEL(to_sparse_sparse_dim, to_sparse, layouts("strided|sparse_coo").any_strides());

tn_status to_layout(Call& call, Tensor, Tensor self, std::optional<Layout>) {
  sparse_from(call, self, self.ndim());
  return TN_OK;
}
TN_KERNEL(_to_layout, to_layout, layouts("strided|sparse_coo").any_strides());

tn_status values_at_kernel(Call& call, Tensor out, Tensor self, Tensor at) {
  Ops op(call);
  op.copy(out, values_at(op, self, at));
  return TN_OK;
}
TN_KERNEL(_values_at, values_at_kernel,
          layouts("strided|sparse_coo,strided").any_strides().mixed_dtypes());

tn_status sparse_mask(Call& call, Tensor, Tensor self, Tensor mask) {
  Ops op(call);
  const Coo at = coalesce(op, mask);
  set_output(call, 0, at.indices, values_at(op, self, at.indices), true);
  return TN_OK;
}
TN_KERNEL(sparse_mask, sparse_mask,
          layouts("strided|sparse_coo,sparse_coo").any_strides().mixed_dtypes());
TN_KERNEL(_at_elements_of, sparse_mask,
          layouts("strided|sparse_coo,sparse_coo").any_strides().mixed_dtypes());

}  // namespace
}  // namespace tenon::coo
