// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Settings by name. docs/settings.md has the list, and says when each is read.
#pragma once

#include <string>
#include <string_view>

#include "tenon/runtime/export.h"

namespace tenon::core {

// What the program chose for TENON_<NAME>, else the environment's value; empty if there is none.
TENON_API std::string setting(std::string_view name);

// The program's own choice, which precedes the environment's for all that read the setting from now
// on; an empty value takes it back. ValueError for a name that is empty or longer than any
// setting's.
TENON_API void set_setting(std::string_view name, std::string_view value);

}  // namespace tenon::core
