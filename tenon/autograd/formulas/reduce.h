// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of reductions and cumulative operators. `dims`: absent or empty means all dimensions.
#pragma once

#include "tenon/autograd/saved.h"
#include "tenon/ops.h"

namespace tenon::autograd::formulas {

Tensor sum_backward(const Tensor& grad, const SavedGeometry& of, OptionalIntArrayRef dims,
                    bool keepdim);
Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dims, bool keepdim);
// The products of all other elements, also where some are zero.
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor prod_dim_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim,
                         bool keepdim);
// Equal extrema share the gradient.
Tensor amax_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                     OptionalIntArrayRef dims, bool keepdim);
Tensor index_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& indices, int64_t dim,
                      bool keepdim);
Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dims,
                    const std::optional<Scalar>& correction, bool keepdim);
// Either gradient may be undefined.
Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self,
                         OptionalIntArrayRef dims, const std::optional<Scalar>& correction,
                         bool keepdim);
// Zero where the norm is zero.
Tensor norm_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& p,
                     const Tensor& result, OptionalIntArrayRef dims, bool keepdim);
Tensor reversed_cumsum(const Tensor& grad, int64_t dim);
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& result);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result,
                             int64_t dim);
Tensor cummax_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& indices, int64_t dim);

}  // namespace tenon::autograd::formulas
