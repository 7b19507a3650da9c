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
// version (0: the newest). `self` (may be null) is the first argument of a method call. Empty: it
// is an operator.
std::string composed_function(int64_t version, const std::string& op, const Value* self,
                              const std::vector<NamedValue>& args);

// The operator that the function stands for and that Tenon has, too, as one kernel or composed of
// others. Null: there is none.
const char* composed_operator(const Function& f);

// Whether calls may name it: operators, and those that other operators or functions stand for.
bool is_operator(std::string_view name);

extern const char* const kComposedText;

}  // namespace tenon::jit::language
