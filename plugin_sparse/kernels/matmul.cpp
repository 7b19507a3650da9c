// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices, of which one or both are sparse. A row of a product is the sum of the rows
// of the other matrix that the elements of its row select.
#include "plugin_sparse/cpu/loops.h"
#include "tenon/sdk/ops/addmm.h"
#include "tenon/sdk/ops/hspmm.h"
#include "tenon/sdk/ops/mm.h"
#include "tenon/sdk/ops/mv.h"
#include "tenon/sdk/ops/sspaddmm.h"

namespace tenon::coo {

void add_product(Ops& op, const Tensor& out, const Terms& terms, const Tensor& dense,
                 const Scalar& alpha, const Tensor& start) {
  if (on_host(out) && dense.dtype() == out.dtype() && terms.values.dtype() == out.dtype()) {
    const bool apart =
        !loops::share_memory(out, terms.values) && !loops::share_memory(out, terms.rows);
    const Tensor to =
        out.contiguous() && apart ? out : op.empty(out.sizes(), out.dtype(), out.device());
    loops::product(op, to, terms, dense, alpha, start);
    if (to.abi() != out.abi()) op.copy(out, to);
    return;
  }
  const Tensor sum = start.defined() ? op("clone", {value(start), value(int64_t{0})})
                                     : op.zeros(out.sizes(), out.dtype(), out.device());
  if (terms.rows.numel() > 0) {
    const int64_t column[] = {terms.rows.numel(), 1};
    const Tensor factors = op("reshape", {value(terms.values), value(Ints(column, 2))});
    op.add_rows_in_order(
        sum, terms.rows,
        op("mul.Tensor", {value(op.index_select(dense, 0, terms.columns)), value(factors)}), alpha);
  }
  op.copy(out, sum);
}

namespace {

const Scalar kOne = Scalar::of(int64_t{1});

Terms terms(Ops& op, const Tensor& a) {
  return {op.row(indices(a), 0), op.row(indices(a), 1), values(a)};
}

void check_matrix(const Tensor& t) {
  if (t.ndim() != 2 || sparse_dim(t) != 2)
    throw Error(TN_ERROR_VALUE, "expected a sparse matrix with 2 sparse dimensions, got ",
                t.sizes(), " with ", int64_t{sparse_dim(t)});
}

// Row by row of a, in the order of its elements: each selects the elements of a row of b.
void both_sparse(Call& call, const Tensor& a, const Tensor& b) {
  Ops op(call);
  const Coo x = coalesce(op, a), y = coalesce(op, b);
  Coo product;
  if (on_host(a) && x.values.dtype() == y.values.dtype() &&
      loops::matmul(op, x, y, a.sizes(), b.sizes(), product))
    return set_output(call, product);
  const auto [of_a, of_b] = op.matches(op.row(x.indices, 1), op.row(y.indices, 0));
  const Tensor v = op("mul.Tensor", {value(op.index_select(x.values, 0, of_a)),
                                     value(op.index_select(y.values, 0, of_b))});
  const Tensor at = op.stack({op.index_select(op.row(x.indices, 0), 0, of_a),
                              op.index_select(op.row(y.indices, 1), 0, of_b)},
                             0);
  const Coo sums = coalesce(op, at, v, Ints(call.abi()->out[0].u.tensor->sizes, 2));
  set_output(call, sums);
}

tn_status mm(Call& call, Tensor out, Tensor self, Tensor mat2) {
  if (!is_strided(self)) check_matrix(self);
  if (!is_strided(mat2)) check_matrix(mat2);
  if (!is_strided(self) && !is_strided(mat2)) {
    both_sparse(call, self, mat2);
    return TN_OK;
  }
  Ops op(call);
  if (!is_strided(self)) {
    add_product(op, out, terms(op, self), mat2, kOne, Tensor());
  } else {
    const Terms t = terms(op, mat2);
    add_product(op, op("t", {value(out)}), {t.columns, t.rows, t.values}, op("t", {value(self)}),
                kOne, Tensor());
  }
  return TN_OK;
}
TN_KERNEL(mm, mm, layouts("strided|sparse_coo,strided|sparse_coo").any_strides());

tn_status mv(Call& call, Tensor out, Tensor self, Tensor vec) {
  check_matrix(self);
  Ops op(call);
  const Tensor column = op("unsqueeze", {value(out), value(int64_t{1})});
  add_product(op, column, terms(op, self), op("unsqueeze", {value(vec), value(int64_t{1})}), kOne,
              Tensor());
  return TN_OK;
}
TN_KERNEL(mv, mv, layouts("sparse_coo,strided").any_strides());

bool is_one(const Scalar& s) { return s.is_float() ? s.to<double>() == 1 : s.to<int64_t>() == 1; }
bool is_zero(const Scalar& s) { return s.is_float() ? s.to<double>() == 0 : s.to<int64_t>() == 0; }

tn_status addmm(Call& call, Tensor out, Tensor self, Tensor mat1, Tensor mat2, Scalar beta,
                Scalar alpha) {
  check_matrix(mat1);
  Ops op(call);
  Tensor start;
  if (!is_zero(beta)) {
    start = is_one(beta) ? self : op("mul.Scalar", {value(self), value(beta)});
    start = op("expand", {value(start), value(out.sizes())});
  }
  add_product(op, out, terms(op, mat1), mat2, alpha, start);
  return TN_OK;
}
TN_KERNEL(addmm, addmm, layouts("strided,sparse_coo,strided").any_strides());

// The rows of the product that are not empty, as a tensor with one sparse dimension.
tn_status hspmm(Call& call, Tensor out, Tensor mat1, Tensor mat2) {
  check_matrix(mat1);
  Ops op(call);
  const Coo a = coalesce(op, mat1);
  const std::vector<Tensor> rows = op.call_many(
      "unique_consecutive", {value(op.row(a.indices, 0)), value(true), value(false)}, 3);
  const int64_t sizes[] = {rows[0].numel(), out.size(1)};
  const Tensor sum = op.empty(Ints(sizes, 2), out.dtype(), out.device());
  add_product(op, sum, {rows[1], op.row(a.indices, 1), a.values}, mat2, kOne, Tensor());
  set_output(call, 0, op("unsqueeze", {value(rows[0]), value(int64_t{0})}), sum, true);
  return TN_OK;
}
TN_KERNEL(hspmm, hspmm, layouts("sparse_coo,strided").any_strides());

// beta * self + alpha * (mat1 @ mat2), each element of the product kept.
tn_status sspaddmm(Call& call, Tensor, Tensor self, Tensor mat1, Tensor mat2, Scalar beta,
                   Scalar alpha) {
  check_matrix(self);
  check_matrix(mat1);
  Ops op(call);
  const Coo a = coalesce(op, mat1);
  const int64_t n = a.values.numel(), k = mat2.size(1), flat[] = {n * k};
  const int64_t column[] = {n, 1}, both[] = {n, k};
  const Tensor factors = op("reshape", {value(a.values), value(Ints(column, 2))});
  const Tensor products =
      op("mul.Tensor", {value(op.index_select(mat2, 0, op.row(a.indices, 1))), value(factors)});
  const Tensor rows =
      op("expand", {value(op("reshape", {value(op.row(a.indices, 0)), value(Ints(column, 2))})),
                    value(Ints(both, 2))});
  const Tensor columns = op("expand", {value(op.arange(k, mat2.device())), value(Ints(both, 2))});
  const Tensor at = op.stack({op("reshape", {value(rows), value(Ints(flat, 1))}),
                              op("reshape", {value(columns), value(Ints(flat, 1))})},
                             0);
  const Tensor v = op(
      "reshape", {value(op("mul.Scalar", {value(products), value(alpha)})), value(Ints(flat, 1))});
  const Tensor own = op("mul.Scalar", {value(values(self)), value(beta)});
  set_output(call, coalesce(op, op.cat({indices(self), at}, 1), op.cat({own, v}, 0), self.sizes()));
  return TN_OK;
}
TN_KERNEL(sspaddmm, sspaddmm, layouts("sparse_coo,sparse_coo,strided").any_strides());

}  // namespace
}  // namespace tenon::coo
