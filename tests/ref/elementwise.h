// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One line per operator: REF_UNARY(exp, std::exp(x)). x and y are the operands' elements, `whole`
// is true for integers.
#pragma once

#include "number.h"

namespace tenon::ref {

// An operand's element: a number stands for all of a tensor.
inline Real element(const Tensor& t, const Index& i) { return get_broadcast(t, i); }
inline Real element(Real v, const Index&) { return v; }

// out = f(x, y, whole) for each element; `whole` says that the operands' dtype has integers.
template <class X, class Y, class F>
tn_status fill_each(const Tensor& out, DType dtype, const X& x, const Y& y, F&& f) {
  const bool whole = !sdk::is_floating(dtype);
  each(out.sizes(), [&](const Index& i) { put(out, i, f(element(x, i), element(y, i), whole)); });
  return TN_OK;
}

}  // namespace tenon::ref

#define REF_TRAITS any_strides().broadcasts()

#define REF_X [[maybe_unused]] const Real x = get_broadcast(self, i)

// The kernel of `op`: `expr` of each x and y.
#define REF_EACH(op, params, dtype, x_of, y_of, expr)                                       \
  static tn_status ref_##op params {                                                        \
    return fill_each(out, dtype, x_of, y_of,                                                \
                     [&]([[maybe_unused]] Real x, [[maybe_unused]] Real y,                  \
                         [[maybe_unused]] bool whole) { return static_cast<Real>(expr); }); \
  }                                                                                         \
  TN_KERNEL(op, ref_##op, REF_TRAITS)

#define REF_UNARY(op, expr) \
  REF_EACH(op, (Call&, Tensor out, Tensor self), self.dtype(), self, Real{0}, expr)

// Tensor with tensor.
#define REF_BINARY(op, expr) \
  REF_EACH(op, (Call&, Tensor out, Tensor self, Tensor other), self.dtype(), self, other, expr)

// Tensor with scalar, the scalar on the right; REF_SCALAR_LEFT: on the left. REF_LIMIT: the scalar
// is not converted to the dtype, even if an integer dtype cannot hold it.
#define REF_NUMBER(op, value, expr) \
  REF_EACH(op, (Call&, Tensor out, Tensor self, Scalar other), self.dtype(), self, value, expr)

#define REF_SCALAR(op, expr) REF_NUMBER(op, operand(other, self.dtype()), expr)
#define REF_LIMIT(op, expr) REF_NUMBER(op, number(other), expr)

#define REF_SCALAR_LEFT(op, expr)                                             \
  REF_EACH(op, (Call&, Tensor out, Scalar self, Tensor other), other.dtype(), \
           operand(self, other.dtype()), other, expr)
