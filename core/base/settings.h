// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The one reader of TENON_* variables. A value that is not allowed is never used in silence: a warning names it, what
// is allowed, and what is taken instead. Nothing is read where the process runs with raised privileges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/core/export.h"

namespace tenon::core {

// TENON_<NAME>; empty if it is unset.
TENON_API std::string setting(std::string_view name);

// A whole number from `least` to `most`; nothing if the variable is unset, empty or not that. `otherwise` says in words
// what is taken then. `name` without TENON_, in both. Allocates only for a warning, and drops that where it cannot.
TENON_API std::optional<int64_t> number_setting(const char* name, int64_t least, int64_t most,
                                                const char* otherwise) noexcept;

// The place of the value in `choices`, `n` words; `otherwise` for none of these.
TENON_API int choice_setting(const char* name, const char* const* choices, int n, int otherwise) noexcept;

}  // namespace tenon::core
