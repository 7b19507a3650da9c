// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Constants and types as graphs and schemas write them.
#pragma once

#include <string>
#include <string_view>

#include "tenon/jit/type.h"

namespace tenon::jit {

void print_value(std::string& out, const IValue& v);
void print_quoted(std::string& out, std::string_view text);
void print_double(std::string& out, double v);
// As graphs print types: named tuples with their fields, Future[Tensor].
std::string graph_text(const Type& t);

}  // namespace tenon::jit
