// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of tables whose rows are looked up.
#pragma once

#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// By the table: a strided tensor, or, if sparse, one row per index, duplicates included.
Tensor embedding_backward(const Tensor& grad, const Tensor& indices, int64_t num_weights,
                          int64_t padding_idx, bool by_frequency, bool sparse);
Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx,
                                 bool by_frequency);
// Of the table and of the factors of _embedding_bag.
Tensor embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag,
                              const Tensor& bag_size, const Tensor& max_indices,
                              int64_t num_weights, bool by_frequency, int64_t mode, bool sparse,
                              const std::optional<Tensor>& per_sample_weights, int64_t padding_idx);
Tensor embedding_bag_factors_backward(const Tensor& grad, const Tensor& weight,
                                      const Tensor& indices, const Tensor& offset2bag,
                                      int64_t padding_idx);
// Of gather, as a sparse tensor of the elements that were taken, each as often as it was.
Tensor gathered_elements(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);

}  // namespace tenon::autograd::formulas
