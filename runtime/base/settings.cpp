// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/settings.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::core {
namespace {

constexpr std::size_t kMaxNameLength = 64;

// Null if unset or empty.
const char* read_variable(std::string_view name) noexcept {
  char variable[kMaxNameLength] = "TENON_";
  const std::size_t prefix = std::strlen(variable);
  if (name.size() >= kMaxNameLength - prefix) return nullptr;
  std::memcpy(variable + prefix, name.data(), name.size());
  variable[prefix + name.size()] = '\0';
  const char* value = secure_getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// `text` makes the part of the message after the value.
template <class Text>
void warn_invalid(const char* name, const char* value, Text text) noexcept {
  try {
    warn_once(join("TENON_", name), "setting",
              join("TENON_", name, " is '", value, "'; expected ", text()));
  } catch (const std::exception&) {  // no memory for the message
  }
}

}  // namespace

std::string setting(std::string_view name) {
  const char* value = read_variable(name);
  return value != nullptr ? value : "";
}

std::optional<int64_t> number_setting(const char* name, int64_t min, int64_t max,
                                      const char* otherwise) noexcept {
  const char* value = read_variable(name);
  if (value == nullptr) return std::nullopt;
  const char* end = value + std::strlen(value);
  int64_t n = 0;
  const auto [last, fault] = std::from_chars(value, end, n);
  if (fault == std::errc() && last == end && n >= min && n <= max) return n;
  warn_invalid(name, value,
               [&] { return join("an integer from ", min, " to ", max, ": ", otherwise); });
  return std::nullopt;
}

int choice_setting(const char* name, const char* const* choices, int n, int otherwise) noexcept {
  const char* value = read_variable(name);
  if (value == nullptr) return otherwise;
  for (int i = 0; i < n; ++i) {
    if (std::strcmp(value, choices[i]) == 0) return i;
  }
  warn_invalid(name, value, [&] {
    std::string list;
    for (int i = 0; i < n; ++i)
      list += std::string(i == 0 ? "" : i + 1 == n ? " or " : ", ") + choices[i];
    return join(list, ": ", choices[otherwise], " is used");
  });
  return otherwise;
}

}  // namespace tenon::core
