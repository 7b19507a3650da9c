// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products, as sums of products.
#include "number.h"
#include "tenon/sdk/ops/addmm.h"
#include "tenon/sdk/ops/addmv.h"
#include "tenon/sdk/ops/baddbmm.h"
#include "tenon/sdk/ops/bmm.h"
#include "tenon/sdk/ops/dot.h"
#include "tenon/sdk/ops/mm.h"
#include "tenon/sdk/ops/mv.h"

namespace {

using namespace tenon::ref;

// The last dimension of `a` against the one of `b` before its last, or its last if it is a vector.
// `i` is the position in the result.
Real product(Tensor a, Tensor b, const Index& i) {
  Index left(i.begin(), i.begin() + a.ndim() - 1), right;
  right.assign(i.begin(), i.begin() + (b.ndim() > 2 ? b.ndim() - 2 : 0));
  left.push_back(0);
  right.push_back(0);
  if (b.ndim() > 1) right.push_back(i.back());
  const std::size_t row = right.size() - (b.ndim() > 1 ? 2 : 1);
  Real sum = 0;
  for (int64_t k = 0; k < a.size(-1); ++k) {
    left.back() = k;
    right[row] = k;
    sum += get(a, left) * get(b, right);
  }
  return sum;
}

tn_status multiply(Call&, Tensor out, Tensor a, Tensor b) {
  each(out.sizes(), [&](const Index& i) { put(out, i, product(a, b, i)); });
  return TN_OK;
}

tn_status multiply_add(Call&, Tensor out, Tensor self, Tensor a, Tensor b, Scalar beta,
                       Scalar alpha) {
  const Real fb = factor(beta, out.dtype()), fa = factor(alpha, out.dtype());
  each(out.sizes(), [&](const Index& i) {
    // With a beta of zero NaN does not propagate.
    const Real base = fb == 0 ? 0 : fb * get_broadcast(self, i);
    put(out, i, base + fa * product(a, b, i));
  });
  return TN_OK;
}

tn_status dot(Call&, Tensor out, Tensor a, Tensor b) {
  put(out, {}, product(a, b, {}));
  return TN_OK;
}

}  // namespace

TN_KERNEL(mm, multiply, dtypes("number").any_strides());
TN_KERNEL(bmm, multiply, dtypes("number").any_strides());
TN_KERNEL(mv, multiply, dtypes("number").any_strides());
TN_KERNEL(dot, dot, dtypes("number").any_strides());
TN_KERNEL(addmm, multiply_add, dtypes("number").any_strides());
TN_KERNEL(addmv, multiply_add, dtypes("number").any_strides());
TN_KERNEL(baddbmm, multiply_add, dtypes("number").any_strides());
