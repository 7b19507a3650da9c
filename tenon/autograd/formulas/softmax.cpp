// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"
#include "tenon/autograd/formulas/recorded.h"
#include "tenon/ops/attention.h"
#include "tenon/ops/wide.h"

namespace tenon::autograd::formulas {

using composite::rounded;
using composite::wide;

namespace {

// The sum of each slice along dim, once for each of its elements, or with one element where t is
// strided.
Tensor slice_sums(const Tensor& t, int64_t dim) {
  if (t.layout() == kStrided) return t.sum({dim}, true);
  const Tensor at = t._indices();
  const int64_t d = dim < 0 ? dim + t.dim() : dim, n = at.size(0);
  if (d >= n) {
    const Tensor v = t.coalesce().values();
    return _with_values(t.coalesce(), v.sum({d - n + 1}, true).expand(v.sizes()));
  }
  std::vector<Tensor> others;
  for (int64_t k = 0; k < n; ++k) {
    if (k != d) others.push_back(at.select(0, k));
  }
  const Tensor where = others.empty() ? at.slice(0, 0, 0) : stack(others, 0);
  return _with_values(t, _values_at(t.sum({d}, false), where));
}

Tensor exponentials(const Tensor& t) {
  return t.layout() == kStrided ? t.exp() : _with_values(t.coalesce(), t.coalesce().values().exp());
}

}  // namespace

// Of sum_j g_j (go_j - s) y_j with s = sum_i go_i y_i, by y_k: g_k (go_k - s) - go_k sum_j g_j y_j.
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim) {
  const Tensor s = slice_sums(grad_output * output, dim);
  return grad * (grad_output - s) - grad_output * slice_sums(grad * output, dim);
}

// Of sum_j g_j (go_j - exp(y_j) s) with s = sum_i go_i, by y_k: -g_k exp(y_k) s.
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output,
                                   const Tensor& output, int64_t dim) {
  return -(grad * exponentials(output)) * slice_sums(grad_output, dim);
}

Tensor log_softmax_backward_by_grad(const Tensor& grad, const Tensor& output, int64_t dim) {
  return grad - slice_sums(grad * exponentials(output), dim);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_gradients(
    const Tensor& grad, const Tensor& grad_logsumexp, const Tensor& query, const Tensor& key,
    const Tensor& value, const std::optional<Tensor>& bias, bool is_causal, double scale,
    const Tensor& output, const Tensor& logsumexp, std::array<bool, 4> mask) {
  const Tensor additive = bias ? *bias : Tensor();
  if (grad.defined() && !grad_logsumexp.defined() && !mask[3] &&
      !is_differentiated_again({&grad, &query, &key, &value, &additive})) {
    auto [q, k, v] = tenon::_fused_attention_backward(grad, query, key, value, bias, output,
                                                      logsumexp, is_causal, scale);
    return {q, k, v, Tensor()};
  }
  const Tensor q = wide(query), k = wide(key), v = wide(value);
  const Tensor p = attention::safe_softmax(attention::scores(q, k, additive, is_causal, scale), -1);
  const Tensor g = grad.defined() ? wide(grad) : zeros_like(wide(output));
  const Tensor slope = tenon::matmul(g, v.transpose(-2, -1));
  Tensor ds = p * (slope - (slope * p).sum({-1}, true));
  if (grad_logsumexp.defined()) ds = ds + p * grad_logsumexp.unsqueeze(-1);
  return {mask[0] ? rounded(tenon::matmul(ds, k) * scale, query) : Tensor(),
          mask[1] ? rounded(tenon::matmul(ds.transpose(-2, -1), q) * scale, key) : Tensor(),
          mask[2] ? rounded(tenon::matmul(p.transpose(-2, -1), g), value) : Tensor(),
          mask[3] ? rounded(ds, additive) : Tensor()};
}

}  // namespace tenon::autograd::formulas
