// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of samples at positions of a grid: one fused operator, or, if they are differentiated
// again, a sum over the neighbors of each position.
#pragma once

#include <array>
#include <tuple>

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

std::tuple<Tensor, Tensor> grid_sampler_gradients(const Tensor& grad, const Tensor& input,
                                                  const Tensor& grid, int64_t interpolation_mode,
                                                  int64_t padding_mode, bool align_corners,
                                                  std::array<bool, 2> mask);

}  // namespace tenon::autograd::formulas
