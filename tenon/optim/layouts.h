// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Steps by gradients with a layout of their own. Private to libtenon.
#pragma once

#include <typeinfo>

#include "tenon/tensor.h"

namespace tenon {
namespace optim {

// ValueError: the optimizer of this class takes strided gradients only.
[[noreturn]] void refuse_layout(const std::type_info& optimizer, const Tensor& grad);
// Adds values to the elements at columns of indices, none of which occurs twice, in place.
void add_elements(Tensor& to, const Tensor& indices, const Tensor& values);

}  // namespace optim
}  // namespace tenon
