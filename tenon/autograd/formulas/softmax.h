// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Second derivatives of softmax, and those of attention. Of a tensor with a layout of its own all
// have the elements of its result.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim);
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output,
                                   const Tensor& output, int64_t dim);
Tensor log_softmax_backward_by_grad(const Tensor& grad, const Tensor& output, int64_t dim);

// By query, key, value and bias.
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_gradients(
    const Tensor& grad, const Tensor& grad_logsumexp, const Tensor& query, const Tensor& key,
    const Tensor& value, const std::optional<Tensor>& bias, bool is_causal, double scale,
    const Tensor& output, const Tensor& logsumexp, std::array<bool, 4> mask);

}  // namespace tenon::autograd::formulas
