// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tenon/enum.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

namespace detail {

// Losses of one element each, joined as asked.
Tensor reduce(const Tensor& losses, enumtype::Reduction reduction);
// Both tensors in their common shape.
std::vector<Tensor> same_shape(const Tensor& input, const Tensor& target);

}  // namespace detail

}  // namespace nn
}  // namespace tenon
