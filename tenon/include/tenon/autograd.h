// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Differentiation: backward, grad, functions of your own, and the guards that switch recording
// (autograd/mode.h).
#pragma once

#include "tenon/autograd/function.h"
#include "tenon/autograd/mode.h"
#include "tenon/autograd/node.h"

namespace tenon::autograd {

using tensor_list = std::vector<Tensor>;

// Adds to .grad of every leaf below the tensors, or to .grad of the inputs alone, leaves or not, if
// there are any. A gradient may be left out for one-element tensors.
TENON_API void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
                        std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                        const variable_list& inputs = {});

// The gradients of the sum of outputs, weighted by grad_outputs, with respect to inputs; .grad
// stays as it is.
TENON_API variable_list grad(const variable_list& outputs, const variable_list& inputs,
                             const variable_list& grad_outputs = {},
                             std::optional<bool> retain_graph = std::nullopt,
                             bool create_graph = false, bool allow_unused = false);

}  // namespace tenon::autograd
