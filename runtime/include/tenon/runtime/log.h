// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Warnings and log lines go through handlers that a program sets; without one they are dropped,
// because a library must not print.
#pragma once

#include <string>
#include <string_view>

#include "tenon/abi/host.h"
#include "tenon/runtime/export.h"

namespace tenon {

struct WarningMessage {
  std::string_view category;  // "fallback", "deprecated", "user"
  std::string_view message;
  const char* file;  // null if unknown
  int line;
};
using WarningCallback = void (*)(const WarningMessage& w);
// Returns the previous one. Null: warnings are dropped.
TENON_API WarningCallback set_warning_handler(WarningCallback f);
TENON_API void warn(std::string_view category, std::string_view message, const char* file = nullptr,
                    int line = 0);
// Only the first time for this key in the process.
TENON_API void warn_once(std::string_view key, std::string_view category, std::string_view message);

namespace core {
using LogHandler = void (*)(int level, std::string_view text);
TENON_API LogHandler set_log_handler(LogHandler f);  // default: none
TENON_API void log(int level, std::string_view text);
}  // namespace core

}  // namespace tenon
