// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tenon::command {

struct ElfNames {
  std::vector<std::string> needed, exports;  // libraries it asks for; symbols it defines for others
};

// Of a 64-bit ELF file in this machine's byte order. ValueError for anything else; every read is
// bounded.
ElfNames read_elf(const std::string& path);

}  // namespace tenon::command
