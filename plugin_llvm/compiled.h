// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that were compiled, by what they are made from.
#pragma once

#include <string_view>

#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

// Of the processor and of TENON_CPU_ISA: 16, 8, or 0 where there is no compiler for either.
int lanes();

// Compiled at the first call with the same; null where it cannot be, which is logged once.
Kernel find_kernel(const Spec& spec, std::string_view text);

}  // namespace tenon::llvm_loops
