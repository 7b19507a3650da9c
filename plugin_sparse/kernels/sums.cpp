// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums and differences. Two sparse tensors are put behind each other; a strided one takes the values up.
#include "plugin_sparse/coo.h"
#include "tenon/sdk/ops/add.h"
#include "tenon/sdk/ops/sub.h"

namespace tenon::coo {
namespace {

Scalar negated(const Scalar& a) { return a.is_float() ? Scalar::of(-a.to<double>()) : Scalar::of(-a.to<int64_t>()); }
bool is_one(const Scalar& a) { return a.is_float() ? a.to<double>() == 1 : a.to<int64_t>() == 1; }

Tensor scaled(Ops& op, const Tensor& t, const Scalar& alpha) {
  return is_one(alpha) ? t : op("mul.Scalar", {value(t), value(alpha)});
}

void both_sparse(Call& call, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  if (sparse_dim(a) != sparse_dim(b))
    throw Error(TN_ERROR_VALUE, "expected the same number of sparse dimensions, got ", int64_t{sparse_dim(a)}, " and ",
                int64_t{sparse_dim(b)});
  Ops op(call);
  give(call, 0, op.cat({indices(a), indices(b)}, 1), op.cat({values(a), scaled(op, values(b), alpha)}, 0), false);
}

// out = factor * dense + alpha * sparse
void one_strided(Call& call, const Tensor& out, const Tensor& dense, const Tensor& sparse, const Scalar& alpha,
                 const Scalar& factor) {
  Ops op(call);
  const Tensor sum = op("contiguous", {value(scaled(op, dense, factor))});
  const bool own = sum.abi()->data != dense.abi()->data || sum.abi()->byte_offset != dense.abi()->byte_offset;
  const Tensor to = own ? sum : op("clone", {value(sum)});
  if (nnz(sparse) > 0) {
    std::vector<int64_t> rows = value_sizes(1, sparse.sizes(), sparse_dim(sparse));
    const Ints first(sparse.sizes().data(), sparse_dim(sparse));
    for (int64_t s : first) rows[0] *= s;
    op.add_rows(op("view", {value(to), value(span(rows))}), op.keys(indices(sparse), first), values(sparse), alpha);
  }
  op.copy(out, to);
}

tn_status sum(Call& call, const Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
  const Scalar one = Scalar::of(int64_t{1});
  if (!is_strided(self) && !is_strided(other))
    both_sparse(call, self, other, alpha);
  else if (is_strided(self))
    one_strided(call, out, self, other, alpha, one);
  else
    one_strided(call, out, other, self, one, alpha);
  return TN_OK;
}

tn_status add(Call& call, Tensor out, Tensor self, Tensor other, Scalar alpha) {
  return sum(call, out, self, other, alpha);
}
TN_KERNEL(add_Tensor, add, layouts("strided|sparse_coo,strided|sparse_coo").any_strides());

tn_status sub(Call& call, Tensor out, Tensor self, Tensor other, Scalar alpha) {
  return sum(call, out, self, other, negated(alpha));
}
TN_KERNEL(sub_Tensor, sub, layouts("strided|sparse_coo,strided|sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
