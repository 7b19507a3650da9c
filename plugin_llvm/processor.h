// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tenon::llvm_loops {

// Its model and what it can do, as text: code of one processor may not run on another.
std::string processor();

}  // namespace tenon::llvm_loops
