// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One field of a good library at a time, changed to what a dynamic linker would follow into foreign
// memory: each is refused with its own reason before the library is opened.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "support.h"

using namespace tenon;
using namespace tenon::test;

namespace {

#if defined(__x86_64__)
constexpr uint32_t kRelative = R_X86_64_RELATIVE, kSlot = R_X86_64_JUMP_SLOT,
                   kIRelative = R_X86_64_IRELATIVE, kTlsModule = R_X86_64_DTPMOD64,
                   kTlsStatic = R_X86_64_TPOFF64;
#else
constexpr uint32_t kRelative = R_AARCH64_RELATIVE, kSlot = R_AARCH64_JUMP_SLOT,
                   kIRelative = R_AARCH64_IRELATIVE, kTlsModule = R_AARCH64_TLS_DTPMOD,
                   kTlsStatic = R_AARCH64_TLS_TPREL;
#endif
constexpr uint64_t kFar = uint64_t{1} << 31;

// The parts of a library's bytes, to be changed in place.
struct Parts {
  std::string bytes = bytes_of(built_plugin("works"));

  template <class T>
  T& at(uint64_t offset) {
    if (offset + sizeof(T) > bytes.size()) throw std::out_of_range("outside of the library");
    return *reinterpret_cast<T*>(bytes.data() + offset);
  }
  Elf64_Ehdr& header() { return at<Elf64_Ehdr>(0); }
  Elf64_Phdr& segment(uint32_t type, int nth = 0) {
    for (int i = 0; i < header().e_phnum; ++i) {
      auto& p = at<Elf64_Phdr>(header().e_phoff + sizeof(Elf64_Phdr) * static_cast<unsigned>(i));
      if (p.p_type == type && nth-- == 0) return p;
    }
    throw std::out_of_range("no such segment");
  }
  Elf64_Phdr& last_load() {
    int n = 0;
    for (int i = 0; i < header().e_phnum; ++i)
      n +=
          at<Elf64_Phdr>(header().e_phoff + sizeof(Elf64_Phdr) * static_cast<unsigned>(i)).p_type ==
          PT_LOAD;
    return segment(PT_LOAD, n - 1);
  }
  Elf64_Dyn& tag(int64_t tag) {
    for (uint64_t at_ = segment(PT_DYNAMIC).p_offset;; at_ += sizeof(Elf64_Dyn)) {
      auto& d = at<Elf64_Dyn>(at_);
      if (d.d_tag == tag) return d;
      if (d.d_tag == DT_NULL) throw std::out_of_range("no such tag");
    }
  }
  uint64_t value(int64_t t) { return tag(t).d_un.d_val; }
  uint64_t offset(uint64_t address) {
    for (int i = 0;; ++i) {
      const Elf64_Phdr& p = segment(PT_LOAD, i);
      if (address >= p.p_vaddr && address < p.p_vaddr + p.p_filesz)
        return address - p.p_vaddr + p.p_offset;
    }
  }
  template <class T>
  T& table(int64_t t, uint64_t index = 0) {
    return at<T>(offset(value(t)) + index * sizeof(T));
  }
  // The first of this type after `after` others of it.
  Elf64_Rela& relocation(uint32_t type, int after = 0) {
    const bool jump = type == kSlot;
    for (uint64_t i = 0; i < value(jump ? DT_PLTRELSZ : DT_RELASZ) / sizeof(Elf64_Rela); ++i) {
      auto& r = table<Elf64_Rela>(jump ? DT_JMPREL : DT_RELA, i);
      if (ELF64_R_TYPE(r.r_info) == type && after-- == 0) return r;
    }
    throw std::out_of_range("no such relocation");
  }
  Elf64_Rela& constructor() {
    for (int i = 0;; ++i) {
      if (relocation(kRelative, i).r_offset == value(DT_INIT_ARRAY))
        return relocation(kRelative, i);
    }
  }
  // The words of DT_GNU_HASH: 0 to 3 the header, then the filter, the buckets and the hashes.
  uint32_t& hash_word(uint64_t i) { return table<uint32_t>(DT_GNU_HASH, i); }
  uint32_t& first_hash() { return hash_word(4 + 2 * hash_word(2) + hash_word(0)); }
  Elf64_Sym& exported() { return table<Elf64_Sym>(DT_SYMTAB, hash_word(1)); }
  Elf64_Vernaux& version() {
    return at<Elf64_Vernaux>(offset(value(DT_VERNEED)) + table<Elf64_Verneed>(DT_VERNEED).vn_aux);
  }
};

struct DamagedFile {
  const char* name;
  void (*damage)(Parts&);
  const char* reason;
};

void expect_all_refused(std::initializer_list<DamagedFile> cases) {
  Folder f;
  for (const DamagedFile& c : cases) {
    SCOPED_TRACE(c.name);
    Parts parts;
    ASSERT_NO_THROW(c.damage(parts));
    const std::string name = std::string("libtenon_") + c.name + ".so";
    f.write(name, parts.bytes);
    expect_refused(f / name, c.reason);
  }
}

uint64_t info(uint64_t symbol, uint32_t type) { return ELF64_R_INFO(symbol, type); }

}  // namespace

TEST(PluginElf, Segments) {
  expect_all_refused({
      {"alignment", [](Parts& p) { p.segment(PT_LOAD).p_align = 3; }, "not a power of two"},
      {"pages", [](Parts& p) { p.last_load().p_vaddr += 8; }, "is not aligned to pages"},
      {"overlap", [](Parts& p) { p.segment(PT_LOAD, 1).p_vaddr %= 4096; },
       "overlaps the one before"},
      {"same_bytes", [](Parts& p) { p.last_load().p_offset = p.last_load().p_vaddr % 4096; },
       "has bytes of the one before"},
      {"note", [](Parts& p) { p.segment(PT_NOTE).p_vaddr = kFar; }, "is not mapped"},
      {"unwinding", [](Parts& p) { p.segment(PT_GNU_EH_FRAME).p_vaddr += 8; },
       "is mapped from another place of the file"},
      {"tls",
       [](Parts& p) {
         p.segment(PT_NOTE).p_align = 3;
         p.segment(PT_NOTE).p_type = PT_TLS;
       },
       "is no usable image of thread-local variables"},
      {"relro", [](Parts& p) { p.segment(PT_GNU_RELRO).p_vaddr = 0; }, "is not writable"},
      {"stack", [](Parts& p) { p.segment(PT_GNU_STACK).p_type = PT_NULL; },
       "does not say once that the stack is not executable"},
  });
}

TEST(PluginElf, DynamicSection) {
  expect_all_refused({
      {"place", [](Parts& p) { p.segment(PT_DYNAMIC).p_vaddr += 8; },
       "the dynamic section is not mapped"},
      {"twice", [](Parts& p) { p.tag(DT_FINI).d_tag = DT_INIT; }, "has two entries of tag 12"},
      {"got", [](Parts& p) { p.tag(DT_PLTGOT).d_un.d_val = 0; }, "table of jumps is not mapped"},
      {"init", [](Parts& p) { p.tag(DT_INIT).d_un.d_val = p.value(DT_INIT_ARRAY); },
       "table of init code is not mapped"},
      {"fini", [](Parts& p) { p.tag(DT_FINI).d_un.d_val = kFar; },
       "table of exit code is not mapped"},
      {"size", [](Parts& p) { p.tag(DT_RELASZ).d_un.d_val += 8; },
       "table of relocations is not mapped"},
      {"no_place", [](Parts& p) { p.tag(DT_RELA).d_tag = DT_DEBUG; },
       "table of relocations has a size and no place"},
      {"entry", [](Parts& p) { p.tag(DT_SYMENT).d_un.d_val = 23; },
       "gives 23 for tag 11, expected 24"},
      {"addends", [](Parts& p) { p.tag(DT_FINI).d_tag = DT_REL; }, "have no addends"},
      {"names", [](Parts& p) { --p.tag(DT_STRSZ).d_un.d_val; }, "have no end"},
      {"soname",
       [](Parts& p) {
         p.tag(DT_FINI).d_tag = DT_SONAME;
         p.tag(DT_SONAME).d_un.d_val = kFar;
       },
       "its SONAME has a name outside of the file"},
      {"audit", [](Parts& p) { p.tag(DT_FINI).d_tag = DT_AUDIT; }, "which no plugin needs"},
  });
}

TEST(PluginElf, Symbols) {
  expect_all_refused({
      {"no_hash", [](Parts& p) { p.tag(DT_GNU_HASH).d_tag = DT_DEBUG; },
       "it has no table of hashes"},
      {"no_buckets", [](Parts& p) { p.hash_word(0) = 0; },
       "table of hashes does not match its symbols"},
      {"filter", [](Parts& p) { p.hash_word(2) = 3; },
       "table of hashes does not match its symbols"},
      {"bucket", [](Parts& p) { p.hash_word(4 + 2 * p.hash_word(2)) = 1u << 30; },
       "table of hashes does not match its symbols"},
      {"hash", [](Parts& p) { p.first_hash() ^= 2; }, "table of hashes does not match symbol"},
      {"chain", [](Parts& p) { p.first_hash() &= ~1u; }, "table of hashes does not match"},
      {"name", [](Parts& p) { p.table<Elf64_Sym>(DT_SYMTAB, 1).st_name = 1u << 30; },
       "symbol 1 has a name outside of the file"},
      {"code", [](Parts& p) { p.exported().st_value = p.value(DT_INIT_ARRAY); },
       "is not in executable code"},
      {"object",
       [](Parts& p) {
         p.header().e_shoff = p.header().e_shnum = 0;  // else its type is checked before
         p.exported().st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
         p.exported().st_size = kFar;
       },
       "is outside of the library"},
      {"tls",
       [](Parts& p) {
         p.header().e_shoff = p.header().e_shnum = 0;
         p.exported().st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS);
       },
       "is outside of the library"},
  });
}

TEST(PluginElf, Versions) {
  expect_all_refused({
      {"form", [](Parts& p) { p.table<Elf64_Verneed>(DT_VERNEED).vn_version = 2; },
       "table of needed versions is not whole"},
      {"count", [](Parts& p) { ++p.tag(DT_VERNEEDNUM).d_un.d_val; },
       "table of needed versions is not whole"},
      {"chain", [](Parts& p) { p.table<Elf64_Verneed>(DT_VERNEED).vn_aux = 1u << 30; },
       "table of needed versions is not whole"},
      {"library", [](Parts& p) { p.table<Elf64_Verneed>(DT_VERNEED).vn_file = 0; },
       "needs a version of a library that it does not need"},
      {"name", [](Parts& p) { p.version().vna_hash ^= 1; }, "has no usable name"},
      {"index", [](Parts& p) { p.table<uint16_t>(DT_VERSYM, 1) = 0x7000; },
       "symbol 1 has a version that is neither needed nor defined"},
      {"missing", [](Parts& p) { p.tag(DT_VERSYM).d_tag = DT_DEBUG; },
       "its symbols have no versions"},
      {"defined",
       [](Parts& p) {
         p.tag(DT_FINI).d_tag = DT_VERDEF;
         p.tag(DT_VERDEF).d_un.d_val = p.value(DT_STRTAB);
       },
       "table of defined versions is not whole"},
  });
}

TEST(PluginElf, Relocations) {
  expect_all_refused({
      {"type", [](Parts& p) { p.relocation(kRelative).r_info = info(0, 99); },
       "has an unknown type"},
      {"symbol", [](Parts& p) { p.relocation(kSlot).r_info = info(1 << 20, kSlot); },
       "jump relocation 0 has a symbol that does not exist"},
      {"alignment", [](Parts& p) { ++p.relocation(kRelative).r_offset; }, "is not aligned"},
      {"far", [](Parts& p) { p.relocation(kRelative).r_offset = kFar; },
       "does not write initialized data"},
      {"negative", [](Parts& p) { p.relocation(kRelative).r_offset = uint64_t(-64); },
       "does not write initialized data"},
      {"code", [](Parts& p) { p.relocation(kSlot).r_offset = p.value(DT_INIT) / 8 * 8; },
       "does not write initialized data"},
      {"dynamic",
       [](Parts& p) { p.relocation(kRelative).r_offset = p.segment(PT_DYNAMIC).p_vaddr; },
       "writes the dynamic section"},
      {"twice",
       [](Parts& p) { p.relocation(kRelative, 1).r_offset = p.relocation(kRelative, 0).r_offset; },
       "writes what another one wrote"},
      {"value", [](Parts& p) { p.relocation(kRelative).r_addend = -1; },
       "has a value outside of the library"},
      {"both", [](Parts& p) { p.relocation(kRelative).r_info = info(1, kRelative); },
       "is relative and has a symbol"},
      {"none", [](Parts& p) { p.relocation(kSlot).r_info = info(0, kSlot); }, "has no symbol"},
      {"skipped", [](Parts& p) { p.relocation(kRelative).r_info = info(0, 0); },
       "is among those of another type"},
      {"resolver",
       [](Parts& p) {
         Elf64_Rela& r = p.relocation(kSlot);
         r.r_info = info(0, kIRelative);
         r.r_addend = 0;
       },
       "is not resolved by code"},
      {"tls", [](Parts& p) { p.relocation(kSlot).r_info = info(0, kTlsModule); },
       "is of a thread-local variable, and there is none"},
      {"not_tls",
       [](Parts& p) {
         Elf64_Rela& r = p.relocation(kSlot);
         r.r_info = info(ELF64_R_SYM(r.r_info), kTlsStatic);
       },
       "has a symbol that is not thread-local"},
  });
}

TEST(PluginElf, ConstructorsAndPackedRelocations) {
  expect_all_refused({
      {"data",
       [](Parts& p) { p.constructor().r_addend = static_cast<int64_t>(p.value(DT_STRTAB)); },
       "makes a constructor or destructor that is not code"},
      {"no_address", [](Parts& p) { p.tag(DT_INIT_ARRAY).d_un.d_val = p.value(DT_PLTGOT); },
       "a constructor or destructor has no address"},
      {"packed",
       [](Parts& p) {
         p.tag(DT_FINI).d_tag = DT_RELR;
         p.tag(DT_RELR).d_un.d_val = p.value(DT_RELA);  // an address, and what is none
         p.tag(DT_INIT).d_tag = DT_RELRSZ;
         p.tag(DT_RELRSZ).d_un.d_val = 16;
       },
       "damaged: packed relocation"},
  });
}

TEST(PluginElf, WithoutDamageItOpens) {
  Folder f;
  Parts whole, stripped;
  stripped.header().e_shoff = stripped.header().e_shnum = 0;
  for (const std::string& bytes : {whole.bytes, stripped.bytes}) {
    f.write("libtenon_works.so", bytes);
    EXPECT_EQ(in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}},
                       [&] {
                         return std::string(plugins::to_string(
                             plugins::load((f / "libtenon_works.so").string()).state));
                       }),
              "opened");
  }
}
