// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/embedding.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

// The one-hot code of int64 classes in a new last dimension; num_classes -1 takes the largest class
// + 1.
TENON_API Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);
// Rows of weight; with max_norm set, long rows of weight are shortened in place first.
TENON_API Tensor embedding(const Tensor& input, const Tensor& weight,
                           const EmbeddingFuncOptions& options = {});
// The sum, mean or maximum of the rows of weight that each bag names: a row of a 2-D input, or in a
// 1-D one the indices from an offset on up to the next.
TENON_API Tensor embedding_bag(const Tensor& input, const Tensor& weight,
                               const EmbeddingBagFuncOptions& options = {});

}  // namespace functional
}  // namespace nn
}  // namespace tenon
