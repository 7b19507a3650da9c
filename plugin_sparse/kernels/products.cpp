// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products and quotients by elements.
#include "plugin_sparse/coo/values_at.h"
#include "plugin_sparse/cpu/loops.h"
#include "tenon/sdk/ops/div.h"
#include "tenon/sdk/ops/mul.h"

namespace tenon::coo {
namespace {

// Coalesced tensors on other devices: the keys of one are looked up among the other's.
void intersection(Call& call, const Tensor& a, const Tensor& b) {
  if (sparse_dim(a) != sparse_dim(b))
    throw Error(TN_ERROR_VALUE, "expected the same number of sparse dimensions, got ",
                int64_t{sparse_dim(a)}, " and ", int64_t{sparse_dim(b)});
  Ops op(call);
  const Coo x = coalesce(op, a), y = coalesce(op, b);
  const Ints first(a.sizes().data(), sparse_dim(a));
  if (x.values.size(0) == 0 || y.values.size(0) == 0)
    return set_empty_output(call, a.sizes(), sparse_dim(a), a.dtype());
  Coo product;
  if (on_host(a) && x.values.dtype() == y.values.dtype() &&
      loops::intersect(op, x, y, first, product))
    return set_output(call, product);
  const Tensor keys = op.keys(x.indices, first), have = op.keys(y.indices, first);
  const Tensor place = op("clamp", {value(op("searchsorted.Tensor", {value(have), value(keys)})),
                                    value(int64_t{0}), value(have.numel() - 1)});
  const Tensor found = op("eq.Tensor", {value(op.index_select(have, 0, place)), value(keys)});
  const Tensor kept = op("reshape", {value(op("nonzero", {value(found)})), value(Ints(&kAll, 1))});
  const Tensor other = op.index_select(y.values, 0, op.index_select(place, 0, kept));
  set_output(call, 0, op.index_select(x.indices, 1, kept),
             op("mul.Tensor", {value(op.index_select(x.values, 0, kept)), value(other)}), true);
}

tn_status mul(Call& call, Tensor, Tensor self, Tensor other) {
  if (!is_strided(self) && !is_strided(other)) {
    intersection(call, self, other);
    return TN_OK;
  }
  const Tensor sparse = is_strided(self) ? other : self, dense = is_strided(self) ? self : other;
  Ops op(call);
  const Tensor by = dense.ndim() == 0 ? dense : values_at(op, dense, indices(sparse));
  set_output(call, 0, indices(sparse), op("mul.Tensor", {value(values(sparse)), value(by)}),
             coalesced(sparse));
  return TN_OK;
}
TN_KERNEL(mul_Tensor, mul, layouts("strided|sparse_coo,strided|sparse_coo").any_strides());

tn_status mul_scalar(Call& call, Tensor, Tensor self, Scalar other) {
  Ops op(call);
  set_output(call, 0, indices(self), op("mul.Scalar", {value(values(self)), value(other)}),
             coalesced(self));
  return TN_OK;
}
TN_KERNEL(mul_Scalar, mul_scalar, layouts("sparse_coo").any_strides());

tn_status div(Call& call, Tensor, Tensor self, Tensor other) {
  Ops op(call);
  set_output(call, 0, indices(self), op("div.Tensor", {value(values(self)), value(other)}),
             coalesced(self));
  return TN_OK;
}
TN_KERNEL(div_Tensor, div, layouts("sparse_coo,strided").any_strides());

tn_status div_scalar(Call& call, Tensor, Tensor self, Scalar other) {
  Ops op(call);
  set_output(call, 0, indices(self), op("div.Scalar", {value(values(self)), value(other)}),
             coalesced(self));
  return TN_OK;
}
TN_KERNEL(div_Scalar, div_scalar, layouts("sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
