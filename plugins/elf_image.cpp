// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_image.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "transient.h"

namespace tenon::plugins {
namespace {

const Elf64_Phdr* find_segment(const std::vector<Elf64_Phdr>& segments, uint64_t address,
                               uint64_t bytes, uint32_t flags, uint64_t Elf64_Phdr::*size) {
  for (const Elf64_Phdr& p : segments) {
    if (p.p_type != PT_LOAD || (p.p_flags & flags) != flags || address < p.p_vaddr) continue;
    const uint64_t from = address - p.p_vaddr;
    if (from <= p.*size && bytes <= p.*size - from) return &p;
  }
  return nullptr;
}

}  // namespace

bool ElfFile::read(uint64_t offset, void* to, uint64_t n) const {
  if (!has(offset, n)) return false;
  char* p = static_cast<char*>(to);
  while (n > 0) {
    ssize_t got = pread(fd, p, n, static_cast<off_t>(offset));
    if (got < 0) system_fault("the file", "cannot be read", errno);
    if (got == 0) return false;
    p += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<uint64_t>(got);
  }
  return true;
}

bool ElfImage::has(int64_t tag) const {
  return std::any_of(dynamic.begin(), dynamic.end(), [&](auto& d) { return d.d_tag == tag; });
}

uint64_t ElfImage::value(int64_t tag) const {
  uint64_t out = 0;
  for (const Elf64_Dyn& d : dynamic) {
    if (d.d_tag == tag) out = d.d_un.d_val;
  }
  return out;
}

const Elf64_Phdr* ElfImage::mapped(uint64_t address, uint64_t bytes, uint32_t flags) const {
  return find_segment(segments, address, bytes, flags, &Elf64_Phdr::p_memsz);
}

const Elf64_Phdr* ElfImage::stored(uint64_t address, uint64_t bytes, uint32_t flags) const {
  return find_segment(segments, address, bytes, flags, &Elf64_Phdr::p_filesz);
}

const Elf64_Phdr* ElfImage::first(uint32_t type) const {
  for (const Elf64_Phdr& p : segments) {
    if (p.p_type == type) return &p;
  }
  return nullptr;
}

uint64_t ElfImage::end() const {
  uint64_t out = 0;
  for (const Elf64_Phdr& p : segments) {
    if (p.p_type == PT_LOAD) out = std::max(out, p.p_vaddr + p.p_memsz);
  }
  return out;
}

bool ElfImage::read(uint64_t address, void* to, uint64_t n) const {
  const Elf64_Phdr* p = stored(address, n);
  return p && file.read(p->p_offset + (address - p->p_vaddr), to, n);
}

uint64_t ElfImage::room(int64_t tag, uint64_t entry) const {
  const uint64_t begin = value(tag);
  const Elf64_Phdr* p = stored(begin, 0);
  if (!p) return 0;
  uint64_t end = p->p_vaddr + p->p_filesz;
  for (int64_t other :
       {DT_STRTAB, DT_SYMTAB, DT_HASH, DT_GNU_HASH, DT_RELA, DT_JMPREL, DT_RELR, DT_VERSYM,
        DT_VERNEED, DT_VERDEF, DT_INIT_ARRAY, DT_FINI_ARRAY, DT_INIT, DT_FINI, DT_PLTGOT}) {
    if (has(other) && value(other) > begin) end = std::min(end, value(other));
  }
  return (end - begin) / entry;
}

}  // namespace tenon::plugins
