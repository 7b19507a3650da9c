// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {
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

}  // namespace tenon::autograd::formulas
