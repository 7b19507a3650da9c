// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices and vectors are products of stacks of matrices.
#include "tenon/batching/rules.h"
#include "tenon/call/box.h"
#include "tenon/ops.h"

namespace tenon::batching::rules {
namespace {

Tensor product(const Call& call, int a, int b) {
  return tenon::matmul(call.front(a), call.front(b));
}

Tensor matrix_vector(const Call& call, int a, int b) {
  return tenon::matmul(call.front(a), call.front(b).unsqueeze(-1)).squeeze(-1);
}

// Integers take fractions of factors in the kernel alone.
bool is_fractional(const Call& call) {
  return call.given(1).is_floating_point() || call.given(1).is_complex();
}

// beta * self + alpha * product; self is not read where beta is 0.
Tensor combined(const Call& call, const Tensor& product) {
  const Scalar beta = autograd::unbox_Scalar(call.in[3]);
  const Scalar alpha = autograd::unbox_Scalar(call.in[4]);
  const bool alone = beta.equal(0);
  if (alone) return alpha.equal(1) ? product : product.mul(alpha);
  const Tensor self = call.aligned(0, product.dim() - 1);
  return (beta.equal(1) ? self : self.mul(beta)).add(product, alpha);
}

}  // namespace

Results matmul(Call& call) { return {product(call, 0, 1)}; }
Results mv(Call& call) { return {matrix_vector(call, 0, 1)}; }

Results dot(Call& call) {
  return {tenon::matmul(call.front(0).unsqueeze(-2), call.front(1).unsqueeze(-1))
              .squeeze(-1)
              .squeeze(-1)};
}

Results addmm(Call& call) {
  if (!is_fractional(call)) return call_slice_by_slice(call);
  return {call.any_batched({1, 2}) ? combined(call, product(call, 1, 2))
                                   : combined(call, call.expanded(1).matmul(call.given(2)))};
}

Results addmv(Call& call) {
  if (!is_fractional(call)) return call_slice_by_slice(call);
  return {call.any_batched({1, 2})
              ? combined(call, matrix_vector(call, 1, 2))
              : combined(call, call.expanded(1).matmul(call.given(2).unsqueeze(-1)).squeeze(-1))};
}

}  // namespace tenon::batching::rules
