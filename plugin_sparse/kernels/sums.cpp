// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums and differences. Two sparse tensors are concatenated; to a strided one the values are added.
#include "plugin_sparse/cpu/loops.h"
#include "tenon/sdk/ops/add.h"
#include "tenon/sdk/ops/sub.h"

namespace tenon::coo {
namespace {

Scalar negated(const Scalar& a) {
  return a.is_float() ? Scalar::of(-a.to<double>()) : Scalar::of(-a.to<int64_t>());
}
bool is_one(const Scalar& a) { return a.is_float() ? a.to<double>() == 1 : a.to<int64_t>() == 1; }

Tensor scaled(Ops& op, const Tensor& t, const Scalar& alpha) {
  return is_one(alpha) ? t : op("mul.Scalar", {value(t), value(alpha)});
}

void both_sparse(Call& call, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  if (sparse_dim(a) != sparse_dim(b))
    throw Error(TN_ERROR_VALUE, "expected the same number of sparse dimensions, got ",
                int64_t{sparse_dim(a)}, " and ", int64_t{sparse_dim(b)});
  Ops op(call);
  const Tensor addend = scaled(op, values(b), alpha);
  Coo sum;
  if (on_host(a) && coalesced(a) && coalesced(b) && values(a).dtype() == addend.dtype() &&
      loops::merge(op, {indices(a), values(a)}, {indices(b), addend},
                   Ints(a.sizes().data(), sparse_dim(a)), sum))
    return set_output(call, sum);
  set_output(call, 0, op.cat({indices(a), indices(b)}, 1), op.cat({values(a), addend}, 0), false);
}

// out += alpha * sparse
void add_elements(Ops& op, const Tensor& out, const Tensor& sparse, const Scalar& alpha) {
  if (on_host(out) && values(sparse).dtype() == out.dtype())
    return loops::scatter(op, out, {indices(sparse), values(sparse)}, alpha, false);
  std::vector<int64_t> rows = value_sizes(1, sparse.sizes(), sparse_dim(sparse));
  const Ints first(sparse.sizes().data(), sparse_dim(sparse));
  for (int64_t s : first) rows[0] *= s;
  op.add_rows(op("view", {value(out), value(span(rows))}), op.keys(indices(sparse), first),
              values(sparse), alpha);
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return a.abi()->data == b.abi()->data && a.abi()->byte_offset == b.abi()->byte_offset;
}

// out = factor * dense + alpha * sparse
void one_strided(Call& call, const Tensor& out, const Tensor& dense, const Tensor& sparse,
                 const Scalar& alpha, const Scalar& factor) {
  Ops op(call);
  const Tensor start = scaled(op, dense, factor);
  const bool apart =
      !loops::share_memory(out, values(sparse)) && !loops::share_memory(out, indices(sparse));
  const Tensor sum =
      out.contiguous() && apart ? out : op.empty(out.sizes(), out.dtype(), out.device());
  if (!same_memory(sum, start)) op.copy(sum, start);
  if (nnz(sparse) > 0) add_elements(op, sum, sparse, alpha);
  if (sum.abi() != out.abi()) op.copy(out, sum);
}

tn_status sum(Call& call, const Tensor& out, const Tensor& self, const Tensor& other,
              const Scalar& alpha) {
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
TN_KERNEL(add_Tensor, add,
          layouts("strided|sparse_coo,strided|sparse_coo").any_strides().inplace("0=0"));

tn_status sub(Call& call, Tensor out, Tensor self, Tensor other, Scalar alpha) {
  return sum(call, out, self, other, negated(alpha));
}
TN_KERNEL(sub_Tensor, sub,
          layouts("strided|sparse_coo,strided|sparse_coo").any_strides().inplace("0=0"));

}  // namespace
}  // namespace tenon::coo
