// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/settings.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <set>

#include "runtime/base/leaf_mutex.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::core {
namespace {

constexpr std::size_t kMaxNameLength = 64;

// What the program chose. Values are kept for as long as the process lives: readers hold pointers.
struct Choices {
  LeafMutex lock;
  std::map<std::string, const std::string*, std::less<>> by_name;
  std::set<std::string> values;
  std::atomic<bool> any{false};
};
Choices& choices() {
  static Choices& all = *new Choices;
  return all;
}
[[maybe_unused]] const Choices& g_made_at_load = choices();

// Null if the program chose nothing.
const char* chosen(std::string_view name) noexcept {
  Choices& all = choices();
  if (!all.any.load(std::memory_order_acquire)) return nullptr;
  std::lock_guard hold(all.lock);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second->c_str();
}

// Null if unset or empty.
const char* read_variable(std::string_view name) noexcept {
  if (const char* choice = chosen(name)) return choice;
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

void set_setting(std::string_view name, std::string_view value) {
  if (name.empty() || name.size() + std::strlen("TENON_") >= kMaxNameLength)
    throw ValueError(join("set_setting: argument 'name' is '", name,
                          "'; expected 1 to 57 characters, without TENON_"));
  Choices& all = choices();
  std::lock_guard hold(all.lock);
  if (value.empty()) {
    if (const auto found = all.by_name.find(name); found != all.by_name.end())
      all.by_name.erase(found);
    return;
  }
  all.by_name[std::string(name)] = &*all.values.emplace(value).first;
  all.any.store(true, std::memory_order_release);
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
