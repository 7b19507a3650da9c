// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What compiled kernels call by name: SLEEF's functions and those of this library.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tenon::llvm_loops {

std::vector<std::pair<std::string, void*>> helpers();

}  // namespace tenon::llvm_loops
