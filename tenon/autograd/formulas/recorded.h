// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Whether the gradient that is being computed is recorded for a second derivative.
#pragma once

#include <initializer_list>
#include <optional>

#include "tenon/autograd.h"

namespace tenon::autograd::formulas {

inline bool is_differentiated_again(std::initializer_list<const Tensor*> tensors) {
  if (!GradMode::is_enabled()) return false;
  for (const Tensor* t : tensors) {
    if (t->defined() && t->requires_grad()) return true;
  }
  return false;
}

inline bool is_differentiated_again(const Tensor& grad, const Tensor& input,
                                    const std::optional<Tensor>& weight) {
  return is_differentiated_again({&grad, &input}) ||
         (weight && is_differentiated_again({&*weight}));
}

}  // namespace tenon::autograd::formulas
