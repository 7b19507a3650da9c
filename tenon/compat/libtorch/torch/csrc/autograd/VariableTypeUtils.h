// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Of libtorch's header what kernels of programs call.
#pragma once

#include <torch/csrc/autograd/variable.h>

namespace torch::autograd {

inline void increment_version(const Tensor& t) { impl::bump_version(t); }

}  // namespace torch::autograd
