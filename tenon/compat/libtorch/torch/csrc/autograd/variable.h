// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Names of namespace autograd for what is at the top.
#pragma once

#include <torch/csrc/autograd/grad_mode.h>

#include <utility>

#include "tenon/autograd/node.h"
#include "tenon/runtime/log.h"

namespace tenon::autograd {

// A tensor of the same storage that records no history of the one given.
inline Variable make_variable(const Tensor& data, bool requires_grad = false) {
  if (!data.defined()) return Variable();
  Variable out = data.detach();
  out.requires_grad_(requires_grad);
  return out;
}

// With the argument of 2017, which has had no effect since 0.4.
inline Variable make_variable(const Tensor& data, bool requires_grad, bool is_volatile) {
  if (is_volatile) {
    warn_once("volatile", "deprecated",
              "volatile was removed and has no effect; use NoGradGuard around what is not to be "
              "recorded");
  }
  return make_variable(data, requires_grad);
}

namespace impl {
using autograd::gradient_edge;
// Says that a kernel of the program's own wrote the tensor: what was saved of it for backward is
// not to be used.
inline void bump_version(const Tensor& t) { t.unsafeGetTensorImpl()->bump_version(); }
}  // namespace impl

}  // namespace tenon::autograd
