// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Softmax, its logarithm and their gradients, and attention.
#include "tenon/ops/attention.h"
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

Tensor sum_along(const Tensor& t, int64_t dim) { return tenon::prim_reduce(t, dim, TN_REDUCE_SUM); }
Tensor from_largest(const Tensor& self, int64_t dim) {
  const Tensor x = wide(self);
  return size_of(x, dim) == 0 ? x : x - tenon::prim_reduce(x, dim, TN_REDUCE_MAX);
}

}  // namespace

Tensor _softmax(const Tensor& self, int64_t dim, bool) {
  const Tensor e = from_largest(self, dim).exp();
  return e / sum_along(e, dim);
}
Tensor _log_softmax(const Tensor& self, int64_t dim, bool) {
  const Tensor x = from_largest(self, dim);
  return x - sum_along(x.exp(), dim).log();
}
Tensor _softmax_backward_data(const Tensor& grad, const Tensor& output, int64_t dim, ScalarType) {
  const Tensor y = wide(output), gy = wide(grad) * y;
  return gy - y * sum_along(gy, dim);
}
Tensor _log_softmax_backward_data(const Tensor& grad, const Tensor& output, int64_t dim,
                                  ScalarType) {
  const Tensor g = wide(grad);
  return g - wide(output).exp() * sum_along(g, dim);
}

Tensor _fused_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                        const std::optional<Tensor>& bias, bool is_causal, double scale) {
  const Tensor mask = bias && bias->defined() ? wide(*bias) : Tensor();
  return as(attention::decomposed(wide(query), wide(key), wide(value), mask, 0, is_causal, scale),
            query.scalar_type());
}

}  // namespace tenon::decomp
