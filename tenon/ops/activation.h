// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The activations of tenon/abi/activations.def, by name. Private to libtenon.
#pragma once

#include <string_view>

#include "tenon/ops.h"

namespace tenon {

// Checked before: a name of the list, with its parameters.
Tensor activated(const Tensor& x, std::string_view name, ArrayRef<double> parameters);
// The gradient of activated() by x, itself differentiable.
Tensor activation_gradient(const Tensor& grad, const Tensor& x, std::string_view name,
                           ArrayRef<double> parameters);

}  // namespace tenon
