// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From an object file to code that runs: what was just compiled, and what an earlier process left
// on disk. For the latter LLVM, which could link it as well, would be opened first: 46 MB.
#pragma once

#include <string>
#include <string_view>

#include "plugin_llvm/spec/spec.h"

namespace tenon::llvm_loops {

struct Linked {
  Kernel kernel = nullptr;
  std::string error;  // why there is none
};

// The kernel of a relocatable ELF file for x86-64: code and constants that refer to one another and
// call helpers, position-independent. Code stays for as long as the process: kernels may run until
// its end.
Linked link(std::string_view object);

}  // namespace tenon::llvm_loops
