// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of the special functions, finite also where a quotient of the formula is 0 / 0.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// The slope of J1 and I1, order0 - order1 / x, which is 1/2 at 0, times grad.
Tensor bessel_slope(const Tensor& grad, const Tensor& self, const Tensor& order0,
                    const Tensor& order1);
Tensor bessel_y1_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor log_ndtr_backward(const Tensor& grad, const Tensor& self);
Tensor xlog1py_backward(const Tensor& grad, const Tensor& self, const Tensor& other);

}  // namespace tenon::autograd::formulas
