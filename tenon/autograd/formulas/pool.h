// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of pooling that do not fit into the operator definition.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// Where the largest element of each window is.
Tensor max_pool2d_indices(const Tensor& self, IntArrayRef kernel, IntArrayRef stride,
                          IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);
// The elements of `t` that a maximum over `spatial` trailing dimensions chose.
Tensor max_pool_gather(const Tensor& t, const Tensor& indices, int64_t spatial);
// The last n sizes.
IntArrayRef last_sizes(const Tensor& t, int64_t n);

}  // namespace tenon::autograd::formulas
