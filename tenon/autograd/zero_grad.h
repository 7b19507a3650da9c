// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Clears a gradient, as modules and optimizers do. Private to libtenon.
#pragma once

#include "tenon/tensor.h"

namespace tenon::autograd {

// Drops the tensor's gradient, if it has one, or fills it with zeros without its history.
inline void zero_grad(const Tensor& tensor, bool set_to_none) {
  Tensor& grad = tensor.mutable_grad();
  if (!grad.defined()) return;
  if (set_to_none) {
    grad.reset();
  } else {
    grad = grad.detach();
    grad.zero_();
  }
}

}  // namespace tenon::autograd
