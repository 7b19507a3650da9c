// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reserved names: they compile, and throw an error that says what is missing.
#pragma once

#include <string>

#include "tenon/runtime/error.h"

namespace tenon::compat {

[[noreturn]] inline void missing(const char* what, const char* instead) {
  throw NotImplementedError(core::join(what, " is not implemented: ", instead));
}

}  // namespace tenon::compat
