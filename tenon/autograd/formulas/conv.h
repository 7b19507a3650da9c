// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions. They are convolutions again, so that they can be differentiated to any
// order.
#pragma once

#include <array>
#include <tuple>

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

std::tuple<Tensor, Tensor, Tensor> convolution_gradients(const Tensor& grad, const Tensor& input,
                                                         const Tensor& weight, IntArrayRef stride,
                                                         IntArrayRef padding, IntArrayRef dilation,
                                                         bool transposed,
                                                         IntArrayRef output_padding, int64_t groups,
                                                         std::array<bool, 3> mask);

// From the gradients of (grad_input, grad_weight, grad_bias), any of which may be undefined, those
// of grad_output, input and weight.
std::tuple<Tensor, Tensor, Tensor> convolution_double_backward(
    const Tensor& gg_input, const Tensor& gg_weight, const Tensor& gg_bias,
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
    int64_t groups, std::array<bool, 3> mask);

// The product is computed again rather than kept.
std::tuple<Tensor, Tensor, Tensor, Tensor> conv_epilogue_gradients(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<Tensor>& bias, const std::optional<Tensor>& other, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, int64_t groups, std::string_view activation,
    ArrayRef<double> parameters, std::array<bool, 4> mask);

}  // namespace tenon::autograd::formulas
