// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where the output of print() and warnings of programs go.
#pragma once

#include <functional>
#include <string>

#include "tenon/runtime/export.h"

namespace tenon::jit {

using PrintHandler = std::function<void(const std::string& line)>;
// Lines are dropped while none is set: a library does not print. Set it before programs run; it may
// be called by several threads.
TENON_API void set_print_handler(PrintHandler handler);

}  // namespace tenon::jit
