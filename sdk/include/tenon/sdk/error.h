// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The exception that kernels throw. The trampoline of kernel.h converts it to a status, so it never
// crosses the boundary.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/abi/host.h"

namespace tenon::sdk {

// Parts of a message; view.h adds the overload for Ints.
inline void append_text(std::string& s, std::string_view v) { s.append(v.data(), v.size()); }
inline void append_text(std::string& s, tn_str v) { s.append(v.ptr, v.len); }
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
void append_text(std::string& s, T v) {
  char text[32];
  const int n = std::is_floating_point_v<T>
                    ? std::snprintf(text, sizeof text, "%g", static_cast<double>(v))
                    : std::snprintf(text, sizeof text, "%lld", static_cast<long long>(v));
  s.append(text, static_cast<std::size_t>(n));
}
template <class... P>
std::string join(const P&... parts) {
  std::string s;
  (append_text(s, parts), ...);
  return s;
}

class __attribute__((visibility("hidden"))) Error {
 public:
  template <class... P>
  explicit Error(tn_status code, const P&... parts) : code_(code), what_(join(parts...)) {}
  tn_status code() const { return code_; }
  const std::string& what() const { return what_; }

 private:
  tn_status code_;
  std::string what_;
};

}  // namespace tenon::sdk
