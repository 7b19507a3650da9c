// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a plugin's library declares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tenon::command {

// The descriptor of the library at the canonical path, read by a child process that calls nothing
// but its entry. BackendError says why it cannot be read within the time.
nlohmann::ordered_json inspect_file(const std::string& path, int seconds);

}  // namespace tenon::command
