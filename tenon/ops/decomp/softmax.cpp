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

std::tuple<Tensor, Tensor> _fused_attention(const Tensor& query, const Tensor& key,
                                            const Tensor& value, const std::optional<Tensor>& bias,
                                            bool is_causal, double scale) {
  const Tensor mask = wide(bias).value_or(Tensor());
  const Tensor s = attention::scores(wide(query), wide(key), mask, is_causal, scale);
  const Tensor weights = mask.defined() ? attention::safe_softmax(s, -1) : tenon::softmax(s, -1);
  return {as(tenon::matmul(weights, wide(value)), query.scalar_type()), s.logsumexp({-1})};
}

std::tuple<Tensor, Tensor, Tensor> _fused_attention_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const std::optional<Tensor>& bias, const Tensor& output, const Tensor& logsumexp,
    bool is_causal, double scale) {
  const Tensor q = wide(query), k = wide(key), v = wide(value), g = wide(grad);
  const Tensor s = attention::scores(q, k, wide(bias).value_or(Tensor()), is_causal, scale),
               sums = wide(logsumexp).unsqueeze(-1);
  const Tensor p = (s - sums).exp().masked_fill(sums.eq(attention::kNoPart), 0);
  const Tensor along = (g * wide(output)).sum({-1}, true);
  const Tensor ds = p * (tenon::matmul(g, v.transpose(-2, -1)) - along) * scale;
  const ScalarType type = query.scalar_type();
  return {as(tenon::matmul(ds, k), type), as(tenon::matmul(ds.transpose(-2, -1), q), type),
          as(tenon::matmul(p.transpose(-2, -1), g), type)};
}

}  // namespace tenon::decomp
