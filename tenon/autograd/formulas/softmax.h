// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Second derivatives of softmax. Of a tensor with a layout of its own all have the elements of its
// result.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim);
Tensor log_softmax_double_backward(const Tensor& grad, const Tensor& grad_output,
                                   const Tensor& output, int64_t dim);
Tensor log_softmax_backward_by_grad(const Tensor& grad, const Tensor& output, int64_t dim);

}  // namespace tenon::autograd::formulas
