// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which values the arguments and results of an exported program name.
#pragma once

#include <set>
#include <string>

#include "jit/formats/exported/json.h"

namespace tenon::jit::formats {

using Names = std::set<std::string, std::less<>>;

// Whether an argument or an output is one of `names`, or holds one.
bool mentions(const Json& j, const Names& names);
// Adds the values that an argument or an output holds.
void add_names(const Json& j, Names& names);
// Adds what the nodes of a graph and of the graphs in them take, and what the graphs give. Names of
// arguments are among them.
void add_used_names(const Json& graph, Names& names);

}  // namespace tenon::jit::formats
