// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Idioms of PyTorch 0.3 that still compile: `using tenon::compat::v03::Variable;` in a program that
// wraps tensors. Each gives one note per process, a warning of category "deprecated" that says what
// to write today.
#pragma once

#include "tenon/tensor.h"

namespace tenon::compat::v03 {

// A Tensor whose 0.3 parts give notes. `is_volatile` has no effect.
class TENON_API Variable : public Tensor {
 public:
  Variable() = default;
  Variable(const Tensor& t, bool requires_grad = false, bool is_volatile = false);
  Tensor data() const;
  Variable cuda() const;
};

}  // namespace tenon::compat::v03
