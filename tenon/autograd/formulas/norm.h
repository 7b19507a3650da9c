// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of normalization: one fused operator, or, if they are differentiated again,
// compositions that recompute the statistics from the input.
#pragma once

#include <array>
#include <tuple>

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

std::tuple<Tensor, Tensor, Tensor> batch_norm_train_gradients(
    const Tensor& grad, const Tensor& input, const std::optional<Tensor>& weight,
    const Tensor& mean, const Tensor& rstd, double eps, std::array<bool, 3> mask);

// By input, weight, bias, running_mean and running_var.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_eval_gradients(
    const Tensor& grad, const Tensor& input, const std::optional<Tensor>& weight,
    const Tensor& running_mean, const Tensor& running_var, double eps, std::array<bool, 5> mask);

std::tuple<Tensor, Tensor, Tensor> layer_norm_gradients(const Tensor& grad, const Tensor& input,
                                                        IntArrayRef normalized_shape,
                                                        const std::optional<Tensor>& weight,
                                                        const Tensor& mean, const Tensor& rstd,
                                                        double eps, std::array<bool, 3> mask);

std::tuple<Tensor, Tensor> rms_norm_gradients(const Tensor& grad, const Tensor& grad_rstd,
                                              const Tensor& input, IntArrayRef normalized_shape,
                                              const std::optional<Tensor>& weight,
                                              const Tensor& rstd, std::optional<double> eps,
                                              std::array<bool, 2> mask);

std::tuple<Tensor, Tensor, Tensor> group_norm_gradients(
    const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_rstd, const Tensor& input,
    const std::optional<Tensor>& weight, const Tensor& mean, const Tensor& rstd, int64_t batch,
    int64_t channels, int64_t plane, int64_t groups, double eps, std::array<bool, 3> mask);

}  // namespace tenon::autograd::formulas
