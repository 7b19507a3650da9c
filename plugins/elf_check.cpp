// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_check.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "elf_dynamic.h"
#include "elf_relocations.h"
#include "elf_symbols.h"
#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
#error "elf_check.cpp: name this machine"
#endif

constexpr uint64_t kMaxTable = 64u << 20;  // of symbols or their names, in bytes
constexpr int kMaxHeaders = 4096;

using File = ElfFile;

std::string header_fault(const File& f, Elf64_Ehdr& h) {
  if (f.bytes == 0) return "the file is empty";
  if (!f.read(0, &h, std::min<uint64_t>(f.bytes, sizeof(h)))) return "the file cannot be read";
  if (f.bytes < 4 || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
    return "not a shared library (no ELF header)";
  if (f.bytes < sizeof(h)) return "truncated: the ELF header is incomplete";
  if (h.e_ident[EI_CLASS] != ELFCLASS64) return "not a 64-bit library";
  if (h.e_ident[EI_DATA] != ELFDATA2LSB) return "a library for a big-endian machine";
  if (h.e_machine != kMachine)
    return core::join("built for another machine (ELF machine ", int{h.e_machine}, ")");
  if (h.e_type != ET_DYN) return core::join("not a shared library (ELF type ", int{h.e_type}, ")");
  return {};
}

std::string segment_fault(ElfImage& image, const Elf64_Ehdr& h) {
  const File& f = image.file;
  if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum == 0 || h.e_phnum > kMaxHeaders) {
    return "damaged: no usable program headers";
  }
  if (!f.has(h.e_phoff, uint64_t{h.e_phnum} * sizeof(Elf64_Phdr)))
    return "truncated: program headers are cut off";
  int dynamic = 0, stack = 0;
  for (int i = 0; i < h.e_phnum; ++i) {
    Elf64_Phdr p;
    if (!f.read(h.e_phoff + static_cast<uint64_t>(i) * sizeof(p), &p, sizeof(p)))
      return "the file cannot be read";
    if (!f.has(p.p_offset, p.p_filesz)) return core::join("truncated: segment ", i, " is cut off");
    if (p.p_type == PT_INTERP) return "a program, not a library";
    if (p.p_type == PT_GNU_STACK && (p.p_flags & PF_X)) return "asks for an executable stack";
    dynamic += p.p_type == PT_DYNAMIC;
    stack += p.p_type == PT_GNU_STACK;
    image.segments.push_back(p);
  }
  if (dynamic == 0) return "not a shared library (no dynamic segment)";
  if (dynamic > 1) return "damaged: two dynamic segments";
  std::string fault = mapping_fault(image);
  if (!fault.empty()) return fault;
  // Without a statement about the stack some dynamic linkers make it executable.
  if (stack != 1) return "damaged: it does not say once that the stack is not executable";
  return {};
}

bool defines(const File& f, const Elf64_Shdr& symbols, const Elf64_Shdr& names,
             const char* symbol) {
  std::vector<Elf64_Sym> table(symbols.sh_size / sizeof(Elf64_Sym));
  std::vector<char> text(names.sh_size + 1, '\0');
  if (!f.read(symbols.sh_offset, table.data(), table.size() * sizeof(Elf64_Sym)) ||
      !f.read(names.sh_offset, text.data(), names.sh_size)) {
    return false;
  }
  for (const Elf64_Sym& s : table) {
    if (s.st_shndx != SHN_UNDEF && s.st_name < names.sh_size &&
        ELF64_ST_TYPE(s.st_info) == STT_FUNC && std::strcmp(text.data() + s.st_name, symbol) == 0) {
      return true;
    }
  }
  return false;
}

// Section headers come last in a file, so this also finds one that lost its end only.
std::string symbol_fault(const File& f, const Elf64_Ehdr& h, const char* symbol) {
  if (h.e_shoff == 0 || h.e_shnum == 0) return {};  // sections stripped: dlsym has the last word
  if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shnum > kMaxHeaders * 4)
    return "damaged: no usable section headers";
  if (!f.has(h.e_shoff, uint64_t{h.e_shnum} * sizeof(Elf64_Shdr)))
    return "truncated: section headers are cut off";
  std::vector<Elf64_Shdr> sections(h.e_shnum);
  if (!f.read(h.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)))
    return "the file cannot be read";
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != SHT_DYNSYM) continue;
    if (s.sh_link >= sections.size()) return "damaged: the symbol table has no names";
    const Elf64_Shdr& names = sections[s.sh_link];
    if (!f.has(s.sh_offset, s.sh_size) || !f.has(names.sh_offset, names.sh_size) ||
        s.sh_size > kMaxTable || names.sh_size > kMaxTable) {
      return "truncated: the symbol table is cut off";
    }
    if (defines(f, s, names, symbol)) return {};
  }
  return core::join("does not export the function ", symbol, ": not a Tenon plugin");
}

}  // namespace

std::string elf_fault(int fd, uint64_t bytes, const char* symbol) {
  File f{fd, bytes};
  Elf64_Ehdr h;
  std::memset(&h, 0, sizeof(h));
  std::string fault = header_fault(f, h);
  ElfImage image{f, {}};
  if (fault.empty()) fault = segment_fault(image, h);
  if (fault.empty()) fault = symbol_fault(f, h, symbol);
  if (fault.empty()) fault = symbols_fault(image);
  if (fault.empty()) fault = relocations_fault(image);
  return fault;
}

}  // namespace tenon::plugins
