// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of products that do not fit into the operator definition.
#pragma once

#include "tenon/autograd/saved.h"
#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// Of the factors of mm. For one with a layout of its own the product is computed at its elements
// alone.
Tensor mm_self_backward(const Tensor& grad, const SavedGeometry& of, const Tensor& mat2);
Tensor mm_mat2_backward(const Tensor& grad, const Tensor& self, const SavedGeometry& of);
Tensor mv_self_backward(const Tensor& grad, const SavedGeometry& of, const Tensor& vec);

// grad * factor, summed over the dimensions that were broadcast from `sizes`.
Tensor scaled_sum_to(const Tensor& grad, const Scalar& factor, IntArrayRef sizes);

std::tuple<Tensor, Tensor, Tensor> addmm_activation_gradients(
    const Tensor& grad, const Tensor& result, const Tensor& self, const Tensor& mat1,
    const Tensor& mat2, const Scalar& beta, const Scalar& alpha, bool use_gelu,
    std::array<bool, 3> mask);

// The product is computed again rather than kept.
std::tuple<Tensor, Tensor, Tensor, Tensor> linear_epilogue_gradients(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<Tensor>& bias, const std::optional<Tensor>& other,
    std::string_view activation, ArrayRef<double> parameters, std::array<bool, 4> mask);

}  // namespace tenon::autograd::formulas
