// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tenon/ivalue.h"

namespace tenon::jit::tracing {

// The lines that one text has and the other has not, with - and + before them; numbers of values
// (%12) do not count. At most 20 lines.
std::string text_difference(const std::string& a, const std::string& b);
// What differs first, "result[1] is off by 0.25"; empty if nothing does. Floating tensors may
// differ by `tolerance`, absolutely and relatively.
std::string value_difference(const std::string& name, const IValue& a, const IValue& b,
                             double tolerance);

}  // namespace tenon::jit::tracing
