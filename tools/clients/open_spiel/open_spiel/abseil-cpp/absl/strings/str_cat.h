// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <string>

namespace absl {
template <class... A>
std::string StrCat(const A&... a) {
  std::ostringstream out;
  (void)(out << ... << a);
  return out.str();
}
}  // namespace absl
