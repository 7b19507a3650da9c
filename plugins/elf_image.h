// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the ELF checks share: the file, how it is mapped, and its dynamic section. Addresses are
// those of the file, as if it were mapped at 0.
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

struct ElfImage {
  ElfFile file;
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Dyn> dynamic = {};  // without the DT_NULL
  std::string strings = {};             // that DT_STRTAB points to; the last byte is 0
  std::vector<Elf64_Sym> symbols = {};  // that DT_SYMTAB points to

  bool has(int64_t tag) const;
  // Of the tag's last entry, as the dynamic linker reads it; 0 if there is none.
  uint64_t value(int64_t tag) const;
  // The loaded segment that has all of these addresses and these flags (PF_W, PF_X); else null.
  const Elf64_Phdr* mapped(uint64_t address, uint64_t bytes, uint32_t flags = 0) const;
  // The same for the part of the segment that comes from the file.
  const Elf64_Phdr* stored(uint64_t address, uint64_t bytes, uint32_t flags = 0) const;
  const Elf64_Phdr* first(uint32_t type) const;  // segment of this type; null if there is none
  uint64_t end() const;                          // of the last loaded segment
  // False if the bytes at the address do not all come from the file.
  bool read(uint64_t address, void* to, uint64_t n) const;
  // The string at this offset; null outside of the string table.
  const char* name(uint64_t offset) const {
    return offset < strings.size() ? strings.c_str() + offset : nullptr;
  }
  // How many entries a table without a stated size may have: up to the next table or the end of the
  // segment.
  uint64_t room(int64_t tag, uint64_t entry) const;
};

}  // namespace tenon::plugins
