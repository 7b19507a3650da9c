// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Debian's control format: stanzas of "Field: value" separated by empty lines, of dpkg's status
// file and apt's lists.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace packages {

struct Package {
  std::string name;
  std::string section;  // without its area: "libs" for "contrib/libs"; empty where there is none
  std::vector<std::string> needs;     // depended on, recommended or suggested, all alternatives
  std::vector<std::string> provides;  // virtual packages
};

// Never fails: lines that are not fields and stanzas without a usable name are left out, so that
// damage costs what it hit.
std::vector<Package> parse(std::string_view text);

// The names in "a (>= 1) | b:any, c [amd64]": a, b, c.
std::vector<std::string> names_of(std::string_view relation);

}  // namespace packages
