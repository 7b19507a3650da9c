// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {

// Of sum_j g_j (go_j - s) y_j with s = sum_i go_i y_i, by y_k: g_k (go_k - s) - go_k sum_j g_j y_j.
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  const Tensor s = (grad_output * output).sum({dim}, true);
  return grad * (grad_output - s) - grad_output * (grad * output).sum({dim}, true);
}

// Of sum_j g_j (go_j - exp(y_j) s) with s = sum_i go_i, by y_k: -g_k exp(y_k) s.
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim) {
  return -(grad * output.exp()) * grad_output.sum({dim}, true);
}

}  // namespace tenon::autograd::formulas
