// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of recurrent layers: one fused operator, or, if they are differentiated again, the
// decomposition.
#pragma once

#include <array>
#include <tuple>

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

std::tuple<Tensor, Tensor, Tensor, Tensor> fused_rnn_gradients(
    const Tensor& grad, const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& input,
    const Tensor& weight, const Tensor& hx, const std::optional<Tensor>& cx, const Tensor& output,
    const Tensor& reserve, int64_t mode, bool has_biases, bool bidirectional,
    std::array<bool, 4> mask);

}  // namespace tenon::autograd::formulas
