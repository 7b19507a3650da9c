// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The only reader of TENON_* variables, of what precedes them too. An invalid value is never
// ignored silently: a warning names it, the valid values, and what is used instead. Nothing is read
// if the process runs with raised privileges.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/runtime/export.h"
#include "tenon/runtime/settings.h"

namespace tenon::core {

// An integer from `min` to `max`; nothing if the variable is unset, empty or invalid. `otherwise`
// describes what is used then. `name` without TENON_, in both. Allocates only for a warning, and
// drops that if memory is short.
TENON_API std::optional<int64_t> number_setting(const char* name, int64_t min, int64_t max,
                                                const char* otherwise) noexcept;

// The index of the value in `choices`, `n` words; `otherwise` if it is none of them.
TENON_API int choice_setting(const char* name, const char* const* choices, int n,
                             int otherwise) noexcept;

}  // namespace tenon::core
