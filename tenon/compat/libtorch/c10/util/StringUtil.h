// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/string_utils.h>

#include <sstream>
#include <string>

#include "tenon/runtime/array_ref.h"

namespace c10 {

// The arguments concatenated, as operator<< writes them.
template <class... Parts>
std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

using std::to_string;

// The elements with a separator between them.
template <class Container>
std::string Join(const std::string& separator, const Container& parts) {
  std::ostringstream out;
  const char* before = "";
  for (const auto& part : parts) {
    out << before << part;
    before = separator.c_str();
  }
  return std::move(out).str();
}

namespace detail {
inline std::string check_text(const char* condition) {
  return std::string("Expected ") + condition + " to be true";
}
template <class... Parts>
std::string check_text(const char*, const Parts&... parts) {
  return c10::str(parts...);
}
}  // namespace detail

}  // namespace c10
namespace tenon {
using ::c10::str;
}
