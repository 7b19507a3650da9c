// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Archives of programs, good and damaged.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fuzz.h"

namespace tenon::fuzz {

struct Archive {
  using Entry = std::pair<std::string, std::string>;  // the name below the root, the content
  std::string root;
  std::vector<Entry> entries;

  static Archive read(const std::string& path);
  std::string whole() const;  // with the right checksums
};

// Changes entries, or the bytes of the whole.
std::string damaged(Archive archive, Random& r);
// Changes the pickles of a file without entries, or any of its bytes.
std::string damaged(std::string pickles, Random& r);

}  // namespace tenon::fuzz
