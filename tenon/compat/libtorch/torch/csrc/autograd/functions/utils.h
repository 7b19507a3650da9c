// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function.h>

namespace tenon::autograd {

// Whether any of them takes part in a recording.
inline bool any_variable_requires_grad(const variable_list& variables) {
  for (const Tensor& v : variables) {
    if (v.defined() && v.requires_grad()) return true;
  }
  return false;
}

}  // namespace tenon::autograd
