// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_relocations.h"

#include <algorithm>

#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

enum class Kind {
  None,
  Relative,
  Symbol,
  Slot,
  IRelative,
  TlsModule,
  TlsOffset,
  TlsStatic,
  TlsPair
};

struct Type {
  uint32_t number;
  Kind kind;
};

#if defined(__x86_64__)
constexpr Type kTypes[] = {
    {R_X86_64_NONE, Kind::None},          {R_X86_64_RELATIVE, Kind::Relative},
    {R_X86_64_64, Kind::Symbol},          {R_X86_64_GLOB_DAT, Kind::Slot},
    {R_X86_64_JUMP_SLOT, Kind::Slot},     {R_X86_64_IRELATIVE, Kind::IRelative},
    {R_X86_64_DTPMOD64, Kind::TlsModule}, {R_X86_64_DTPOFF64, Kind::TlsOffset},
    {R_X86_64_TPOFF64, Kind::TlsStatic},  {R_X86_64_TLSDESC, Kind::TlsPair}};
#else
constexpr Type kTypes[] = {{R_AARCH64_NONE, Kind::None},
                           {R_AARCH64_RELATIVE, Kind::Relative},
                           {R_AARCH64_ABS64, Kind::Symbol},
                           {R_AARCH64_GLOB_DAT, Kind::Slot},
                           {R_AARCH64_JUMP_SLOT, Kind::Slot},
                           {R_AARCH64_IRELATIVE, Kind::IRelative},
                           {R_AARCH64_TLS_DTPMOD, Kind::TlsModule},
                           {R_AARCH64_TLS_DTPREL, Kind::TlsOffset},
                           {R_AARCH64_TLS_TPREL, Kind::TlsStatic},
                           {R_AARCH64_TLSDESC, Kind::TlsPair}};
#endif

// The words of a segment that relocations write.
struct Words {
  uint64_t begin = 0;
  std::vector<bool> written;
};

class Check {
 public:
  explicit Check(const ElfImage& image) : image_(image), end_(image.end()) {
    for (const Elf64_Phdr& p : image.segments) {
      if (p.p_type == PT_LOAD && (p.p_flags & PF_W))
        words_.push_back({p.p_vaddr / 8, std::vector<bool>(p.p_filesz / 8 + 2)});
    }
    for (auto [at, bytes] :
         {std::pair{DT_INIT_ARRAY, DT_INIT_ARRAYSZ}, std::pair{DT_FINI_ARRAY, DT_FINI_ARRAYSZ}}) {
      if (image.has(at)) arrays_.push_back({image.value(at), image.value(bytes), 0});
    }
  }

  std::string fault() {
    std::string fault = packed_fault();
    // One linker packs the place of a resolved function, too, which the resolver's result replaces.
    for (Words& w : words_) w.written.assign(w.written.size(), false);
    if (fault.empty()) fault = table_fault("relocation", DT_RELA, DT_RELASZ);
    if (fault.empty() && !shares_table())
      fault = table_fault("jump relocation", DT_JMPREL, DT_PLTRELSZ);
    for (const Array& a : arrays_) {
      if (fault.empty() && a.relocated != a.bytes / 8)
        fault = "damaged: a constructor or destructor has no address";
    }
    return fault;
  }

 private:
  struct Array {
    uint64_t at, bytes, relocated;
  };

  // Some linkers count the jump relocations in the other table, too.
  bool shares_table() const {
    const uint64_t begin = image_.value(DT_RELA), end = begin + image_.value(DT_RELASZ);
    return image_.has(DT_RELA) && image_.has(DT_JMPREL) && image_.value(DT_JMPREL) >= begin &&
           image_.value(DT_JMPREL) + image_.value(DT_PLTRELSZ) <= end;
  }

  std::string table_fault(const char* what, int64_t at, int64_t bytes) {
    if (!image_.has(at)) return {};
    std::vector<Elf64_Rela> table(image_.value(bytes) / sizeof(Elf64_Rela));
    if (!image_.read(image_.value(at), table.data(), table.size() * sizeof(Elf64_Rela)))
      return "the file cannot be read";
    const uint64_t relative = at == DT_RELA ? image_.value(DT_RELACOUNT) : 0;
    if (relative > table.size()) return "damaged: it counts more relative relocations than it has";
    bool none = false;
    for (uint64_t i = 0; i < table.size(); ++i) {
      const Kind* kind = kind_of(table[i]);
      const char* why = !kind ? " has an unknown type" : entry_fault(table[i], *kind);
      if (!why && (i < relative || none) && (*kind == Kind::Relative) != (i < relative))
        why = " is among those of another type";
      if (why) return core::join("damaged: ", what, " ", i, why);
      none = none || *kind == Kind::None;  // linkers put them behind the relative ones
    }
    return {};
  }

  static const Kind* kind_of(const Elf64_Rela& r) {
    for (const Type& t : kTypes) {
      if (t.number == ELF64_R_TYPE(r.r_info)) return &t.kind;
    }
    return nullptr;
  }

  const char* entry_fault(const Elf64_Rela& r, Kind kind) {
    if (kind == Kind::None) return nullptr;
    const uint64_t index = ELF64_R_SYM(r.r_info), addend = static_cast<uint64_t>(r.r_addend);
    if (index >= image_.symbols.size()) return " has a symbol that does not exist";
    if (const char* why = place_fault(r.r_offset, kind == Kind::TlsPair ? 16 : 8)) return why;
    const Elf64_Sym& symbol = image_.symbols[index];
    const bool defined = index != 0 && symbol.st_shndx != SHN_UNDEF;
    const bool code =
        defined ? image_.stored(symbol.st_value + addend, 1, PF_X) != nullptr : index != 0;
    switch (kind) {
      case Kind::Relative:
        if (index != 0) return " is relative and has a symbol";
        return value_fault(r.r_offset, addend);
      case Kind::IRelative:
        return index == 0 && image_.stored(addend, 1, PF_X) ? nullptr : " is not resolved by code";
      case Kind::Slot:
        if (index == 0) return " has no symbol";
        return ELF64_ST_TYPE(symbol.st_info) == STT_TLS ? " has a thread-local symbol"
                                                        : array_fault(r.r_offset, code);
      case Kind::Symbol:
        if (defined && symbol.st_shndx != SHN_ABS && symbol.st_value + addend > end_)
          return " has a value outside of the library";
        return array_fault(r.r_offset, code);
      default:
        return tls_fault(index, addend, kind);
    }
  }

  const char* tls_fault(uint64_t index, uint64_t addend, Kind kind) const {
    const Elf64_Sym& symbol = image_.symbols[index];
    if (index != 0 && ELF64_ST_TYPE(symbol.st_info) != STT_TLS)
      return " has a symbol that is not thread-local";
    if (index != 0 && symbol.st_shndx == SHN_UNDEF) return nullptr;
    const Elf64_Phdr* tls = image_.first(PT_TLS);
    if (!tls) return " is of a thread-local variable, and there is none";
    if (kind != Kind::TlsModule && symbol.st_value + addend > tls->p_memsz)
      return " is outside of the thread-local variables";
    return nullptr;
  }

  // Marks the words as written.
  const char* place_fault(uint64_t at, uint64_t bytes) {
    if (at % 8 != 0) return " is not aligned";
    const Elf64_Phdr* p = image_.stored(at, bytes, PF_W);
    if (!p) return " does not write initialized data";
    const Elf64_Phdr* dynamic = image_.first(PT_DYNAMIC);
    if (at < dynamic->p_vaddr + dynamic->p_filesz && at + bytes > dynamic->p_vaddr)
      return " writes the dynamic section";
    auto words = std::find_if(words_.begin(), words_.end(),
                              [&](const Words& w) { return w.begin == p->p_vaddr / 8; });
    for (uint64_t i = at / 8; i < (at + bytes) / 8; ++i) {
      if (words->written[i - words->begin]) return " writes what another one wrote";
      words->written[i - words->begin] = true;
    }
    return nullptr;
  }

  const char* value_fault(uint64_t at, uint64_t value) {
    if (value > end_) return " has a value outside of the library";  // the end itself is allowed
    return array_fault(at, image_.stored(value, 1, PF_X) != nullptr);
  }

  const char* array_fault(uint64_t at, bool code) {
    for (Array& a : arrays_) {
      if (at < a.at || at - a.at >= a.bytes) continue;
      ++a.relocated;
      if (!code) return " makes a constructor or destructor that is not code";
    }
    return nullptr;
  }

  // DT_RELR: an address, and then words of 63 bits, each bit for the next word after it. What is
  // relocated has its value in place.
  std::string packed_fault() {
    if (!image_.has(DT_RELR)) return {};
    std::vector<uint64_t> table(image_.value(DT_RELRSZ) / 8);
    if (!image_.read(image_.value(DT_RELR), table.data(), table.size() * 8))
      return "the file cannot be read";
    uint64_t next = 0;
    for (uint64_t i = 0; i < table.size(); ++i) {
      const char* why = i == 0 && (table[i] & 1) ? " has no address" : nullptr;
      if ((table[i] & 1) == 0) {
        why = packed_word_fault(table[i]);
        next = table[i] + 8;
      }
      for (uint64_t bit = 0; (table[i] & 1) && bit < 63 && !why; ++bit) {
        if (table[i] >> (bit + 1) & 1) why = packed_word_fault(next + bit * 8);
      }
      if (why) return core::join("damaged: packed relocation ", i, why);
      if (table[i] & 1) next += 63 * 8;
    }
    return {};
  }

  const char* packed_word_fault(uint64_t at) {
    if (const char* why = place_fault(at, 8)) return why;
    uint64_t value = 0;
    if (!image_.read(at, &value, sizeof value)) return " does not write initialized data";
    return value_fault(at, value);
  }

  const ElfImage& image_;
  const uint64_t end_;
  std::vector<Words> words_;
  std::vector<Array> arrays_;
};

}  // namespace

std::string relocations_fault(const ElfImage& image) { return Check(image).fault(); }

}  // namespace tenon::plugins
