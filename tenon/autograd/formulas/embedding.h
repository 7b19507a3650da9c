// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of tables whose rows are looked up.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// Of the table: a strided tensor, or, if sparse, the rows that indices name, each as often as it does.
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx,
                          bool by_frequency, bool sparse);
Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx, bool by_frequency);

}  // namespace tenon::autograd::formulas
