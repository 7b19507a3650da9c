// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the engines of collectives do, for `tenon plugins --load`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tenon::command {

std::string engine_table();  // operations that do the same share a line; empty: no engine
nlohmann::ordered_json engines_to_json();

}  // namespace tenon::command
