// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names of namespace autograd for what is at the top.
#pragma once

#include <torch/csrc/autograd/grad_mode.h>

#include <utility>

namespace tenon::autograd {

// A tensor of the same storage that records no history of the one given.
inline Variable make_variable(const Tensor& data, bool requires_grad = false) {
  if (!data.defined()) return Variable();
  Variable out = data.detach();
  out.requires_grad_(requires_grad);
  return out;
}

}  // namespace tenon::autograd
