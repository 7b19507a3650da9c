// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of libtorch that programs call: the operators.
#pragma once

#include <ATen/ATen.h>

namespace at::native {
using namespace ::tenon;

inline bool cpu_equal(const Tensor& a, const Tensor& b) { return ::tenon::equal(a, b); }
}  // namespace at::native
