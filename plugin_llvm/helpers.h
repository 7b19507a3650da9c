// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What compiled kernels call by name: SLEEF's functions and those of this plugin.
#pragma once

#include <string_view>

namespace tenon::llvm_loops {

// Null where there is none of that name.
const void* find_helper(std::string_view name);

}  // namespace tenon::llvm_loops
