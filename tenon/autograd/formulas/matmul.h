// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of products that do not fit into the row.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// grad * factor, summed over the dimensions that were broadcast from `sizes`.
Tensor scaled_sum_to(const Tensor& grad, const Scalar& factor, IntArrayRef sizes);

std::tuple<Tensor, Tensor, Tensor> addmm_activation_gradients(const Tensor& grad, const Tensor& result,
                                                              const Tensor& self, const Tensor& mat1,
                                                              const Tensor& mat2, const Scalar& beta,
                                                              const Scalar& alpha, bool use_gelu,
                                                              std::array<bool, 3> mask);

}  // namespace tenon::autograd::formulas
