// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of pointwise operators that do not fit into the operator definition.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// grad * conjugated(factor), without a kernel for a factor of 1.
Tensor scaled(const Tensor& grad, const Scalar& factor);
// The conjugate; a real tensor as it is.
Tensor conjugated(const Tensor& t);
// grad times self / |self|, 0 at 0.
Tensor abs_backward(const Tensor& grad, const Tensor& self);
Tensor lerp_self_backward(const Tensor& grad, const Scalar& weight);
Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent);
Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent);
Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent,
                             const Tensor& result);
Tensor pow_backward_base(const Tensor& grad, const Scalar& self, const Tensor& exponent,
                         const Tensor& result);
// To `self` where it is greater than `other`; equal elements share.
Tensor extremum_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
// The same of fmax, for which NaN loses; of fmin with self and other exchanged.
Tensor fmax_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor fmax_backward_other(const Tensor& grad, const Tensor& self, const Tensor& other);
// Zero at a bound.
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max);
// of / (self^2 + other^2), and 0 at the origin.
Tensor atan2_slope(const Tensor& self, const Tensor& other, const Tensor& of);
Tensor xlogy_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor mish_backward(const Tensor& grad, const Tensor& self);
// The second derivative of gelu by tanh.
Tensor gelu_tanh_second(const Tensor& self);
Tensor elu_backward(const Tensor& grad, const Tensor& self, const Scalar& alpha,
                    const Scalar& scale, const Scalar& input_scale);
Tensor hardswish_backward(const Tensor& grad, const Tensor& self);
Tensor shrink_backward(const Tensor& grad, const Tensor& self, const Scalar& lambd);
// The second derivative of silu.
Tensor silu_second(const Tensor& self);
Tensor softplus_second(const Tensor& grad, const Tensor& self, const Scalar& beta,
                       const Scalar& threshold);
// The slope of igamma by its second argument, times grad.
Tensor igamma_slope(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor frexp_backward(const Tensor& grad, const Tensor& exponent);

}  // namespace tenon::autograd::formulas
