// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "tenon/core/log.h"

namespace tenon::core {

std::string setting(std::string_view name) {
  std::string variable = "TENON_";
  variable += name;
  const char* value = secure_getenv(variable.c_str());
  return value != nullptr ? value : "";
}

}  // namespace tenon::core
