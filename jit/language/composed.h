// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators that calls may name although there are none of that kind: functions in the language
// itself stand for them. They are those that Tenon composes of others, and what operators did in
// archives of old versions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/language/match.h"

namespace tenon::jit::language {

// The name of the function of kComposedText that a call of the operator means in archives of the
// version (0: the newest). `self` (may be null) is the first argument of a method call. Null: it
// is an operator.
const char* composed_function(int64_t version, const std::string& op, const Value* self,
                              const std::vector<NamedValue>& args);

// Whether a function stands for an operator of this name in archives of all versions.
bool is_composed(std::string_view op);

extern const char* const kComposedText;

}  // namespace tenon::jit::language
