// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The second half of elf_check: how the file asks to be mapped, and its dynamic section.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::plugins {

// Reads inside of the file only.
struct ElfFile {
  int fd;
  uint64_t bytes;
  bool has(uint64_t offset, uint64_t n) const { return offset <= bytes && n <= bytes - offset; }
  bool read(uint64_t offset, void* to, uint64_t n) const;
};

// Empty if the loaded segments are in ascending order and contain every table that the dynamic
// section points to, and it asks for nothing unsafe: text relocations, static thread-local storage,
// libraries by a relative path.
std::string mapping_fault(const ElfFile& f, const std::vector<Elf64_Phdr>& segments);

}  // namespace tenon::plugins
