// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_dynamic.h"

#include <algorithm>

#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

constexpr uint64_t kMaxMapped = uint64_t{4} << 30;  // bytes of all segments, the gaps included
constexpr uint64_t kMaxEntries = 4096;              // of the dynamic section
constexpr uint64_t kMaxStrings = 64u << 20;
constexpr uint64_t kPage = 4096;

std::string load_fault(const ElfImage& image) {
  uint64_t end = 0, end_in_file = 0;
  bool any = false;
  for (std::size_t i = 0; i < image.segments.size(); ++i) {
    const Elf64_Phdr& p = image.segments[i];
    if (p.p_type != PT_LOAD) continue;
    auto damaged = [&](const char* what) { return core::join("damaged: segment ", i, what); };
    if (p.p_memsz < p.p_filesz) return damaged(" has no room");
    if (p.p_memsz > kMaxMapped || p.p_vaddr > kMaxMapped) return damaged(" is mapped beyond 4 GiB");
    if (p.p_align & (p.p_align - 1)) return damaged(" has an alignment that is not a power of two");
    if (p.p_align > kMaxMapped || (p.p_vaddr - p.p_offset) % kPage != 0)
      return damaged(" is not aligned to pages");
    if (p.p_vaddr / kPage * kPage < end) return damaged(" overlaps the one before");
    if (p.p_offset < end_in_file) return damaged(" has bytes of the one before");
    if ((p.p_flags & PF_W) && (p.p_flags & PF_X))
      return core::join("segment ", i, " is writable and executable");
    if (p.p_flags & ~(PF_R | PF_W | PF_X)) return damaged(" has unknown flags");
    if (!any && p.p_vaddr != 0) return "damaged: its first segment is not mapped at 0";
    any = true;
    // Protection is set for whole pages, and writable ones are filled with zeros.
    end = (p.p_vaddr + p.p_memsz + kPage - 1) / kPage * kPage;
    end_in_file = p.p_offset + p.p_filesz;
  }
  return any ? "" : "damaged: no segment is loaded";
}

// Its whole pages are made read-only after the relocations. It may begin before its segment, with
// thread-local variables that take no room there.
bool relro_is_mapped(const ElfImage& image, const Elf64_Phdr& relro) {
  const uint64_t begin = relro.p_vaddr / kPage, end = (relro.p_vaddr + relro.p_memsz) / kPage;
  return relro.p_memsz <= kMaxMapped && relro.p_vaddr <= kMaxMapped &&
         std::any_of(image.segments.begin(), image.segments.end(), [&](const Elf64_Phdr& p) {
           return p.p_type == PT_LOAD && (p.p_flags & PF_W) && p.p_vaddr / kPage <= begin &&
                  end <= (p.p_vaddr + p.p_memsz + kPage - 1) / kPage;
         });
}

// Those that the dynamic linker, the unwinder or a new thread reads at run time.
std::string part_fault(const ElfImage& image, std::size_t i) {
  const Elf64_Phdr& p = image.segments[i];
  auto damaged = [&](const char* what) { return core::join("damaged: segment ", i, what); };
  switch (p.p_type) {
    case PT_PHDR:
    case PT_NOTE:
    case PT_GNU_PROPERTY:
    case PT_GNU_EH_FRAME: {
      const Elf64_Phdr* in = image.stored(p.p_vaddr, std::max(p.p_filesz, p.p_memsz));
      if (!in) return damaged(" is not mapped");
      if (in->p_offset + (p.p_vaddr - in->p_vaddr) != p.p_offset)
        return damaged(" is mapped from another place of the file");
      return {};
    }
    case PT_TLS:
      if (p.p_memsz < p.p_filesz || p.p_memsz > kMaxMapped || (p.p_align & (p.p_align - 1)) ||
          p.p_align > kMaxMapped || image.first(PT_TLS) != &p)
        return damaged(" is no usable image of thread-local variables");
      return p.p_filesz == 0 || image.stored(p.p_vaddr, p.p_filesz) ? ""
                                                                    : damaged(" is not mapped");
    case PT_GNU_RELRO:
      return relro_is_mapped(image, p) ? "" : damaged(" is not writable");
    default:
      return {};
  }
}

// The dynamic linker keeps the last of two entries, and a reader may keep the first.
std::string twice_fault(const ElfImage& image) {
  std::vector<int64_t> tags;
  for (const Elf64_Dyn& d : image.dynamic) {
    if (d.d_tag != DT_NEEDED && d.d_tag != DT_AUXILIARY && d.d_tag != DT_FILTER)
      tags.push_back(d.d_tag);
  }
  std::sort(tags.begin(), tags.end());
  const auto twice = std::adjacent_find(tags.begin(), tags.end());
  if (twice == tags.end()) return {};
  return core::join("damaged: its dynamic section has two entries of tag ", *twice);
}

std::string read_dynamic(ElfImage& image) {
  const Elf64_Phdr& p = *image.first(PT_DYNAMIC);
  const Elf64_Phdr* in = image.stored(p.p_vaddr, p.p_filesz, p.p_flags & PF_W);
  if (p.p_filesz / sizeof(Elf64_Dyn) > kMaxEntries || !in ||
      in->p_offset + (p.p_vaddr - in->p_vaddr) != p.p_offset || p.p_vaddr % alignof(Elf64_Dyn)) {
    return "damaged: the dynamic section is not mapped";
  }
  std::vector<Elf64_Dyn>& entries = image.dynamic;
  entries.resize(p.p_filesz / sizeof(Elf64_Dyn));
  if (!image.file.read(p.p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn)))
    return "the file cannot be read";
  std::size_t n = 0;
  while (n < entries.size() && entries[n].d_tag != DT_NULL) ++n;
  if (n == entries.size()) return "damaged: the dynamic section has no end";
  entries.resize(n);
  if (std::string fault = twice_fault(image); !fault.empty()) return fault;
  const uint64_t bytes = image.value(DT_STRSZ);
  if (bytes > kMaxStrings || !image.stored(image.value(DT_STRTAB), bytes))
    return "damaged: the names of the dynamic section are not mapped";
  image.strings.resize(bytes);
  if (!image.read(image.value(DT_STRTAB), image.strings.data(), bytes))
    return "the file cannot be read";
  if (bytes == 0 || image.strings.back() != '\0')
    return "damaged: the names of the dynamic section have no end";
  return {};
}

struct Table {
  const char* name;
  int64_t at, bytes;  // tags; of bytes -1: one entry is all that is known
  uint64_t entry;
  uint32_t flags;  // of its segment
};

constexpr Table kTables[] = {
    {"symbols", DT_SYMTAB, -1, sizeof(Elf64_Sym), 0},
    {"relocations", DT_RELA, DT_RELASZ, sizeof(Elf64_Rela), 0},
    {"jump relocations", DT_JMPREL, DT_PLTRELSZ, sizeof(Elf64_Rela), 0},
    {"packed relocations", DT_RELR, DT_RELRSZ, sizeof(uint64_t), 0},
    {"constructors", DT_INIT_ARRAY, DT_INIT_ARRAYSZ, sizeof(Elf64_Addr), 0},
    {"destructors", DT_FINI_ARRAY, DT_FINI_ARRAYSZ, sizeof(Elf64_Addr), 0},
    {"hashes", DT_GNU_HASH, -1, 16, 0},
    {"hashes", DT_HASH, -1, 8, 0},
    {"versions", DT_VERSYM, -1, 2, 0},
    {"needed versions", DT_VERNEED, -1, sizeof(Elf64_Verneed), 0},
    {"defined versions", DT_VERDEF, -1, sizeof(Elf64_Verdef), 0},
    {"jumps", DT_PLTGOT, -1, 8, PF_W},
    {"jumps", DT_TLSDESC_GOT, -1, 8, PF_W},
    {"init code", DT_INIT, -1, 1, PF_X},
    {"exit code", DT_FINI, -1, 1, PF_X},
    {"jump code", DT_TLSDESC_PLT, -1, 1, PF_X}};

std::string table_fault(const ElfImage& image) {
  for (const Table& t : kTables) {
    if (!image.has(t.at)) {
      if (t.at == DT_SYMTAB) return "damaged: it has no table of symbols";
      if (t.bytes >= 0 && image.value(t.bytes) != 0)
        return core::join("damaged: its table of ", t.name, " has a size and no place");
      continue;
    }
    const uint64_t bytes = t.bytes < 0 ? t.entry : image.value(t.bytes);
    if (bytes % t.entry != 0 || !image.stored(image.value(t.at), bytes, t.flags))
      return core::join("damaged: its table of ", t.name, " is not mapped");
  }
  const struct {
    int64_t tag;
    uint64_t expected;
  } constants[] = {{DT_SYMENT, sizeof(Elf64_Sym)},
                   {DT_RELAENT, sizeof(Elf64_Rela)},
                   {DT_RELRENT, sizeof(uint64_t)},
                   {DT_PLTREL, DT_RELA}};
  for (const auto& c : constants) {
    if (image.has(c.tag) && image.value(c.tag) != c.expected)
      return core::join("damaged: its dynamic section gives ", image.value(c.tag), " for tag ",
                        c.tag, ", expected ", c.expected);
  }
  if (image.has(DT_REL)) return "damaged: its relocations have no addends";
  return {};
}

// A relative folder is resolved against the current directory, which anybody may have written.
std::string path_fault(const char* what, const std::string& list) {
  for (std::size_t begin = 0; begin <= list.size();) {
    std::size_t end = std::min(list.find(':', begin), list.size());
    std::string item = list.substr(begin, end - begin);
    if (item.rfind("/", 0) != 0 && item.rfind("$ORIGIN", 0) != 0 &&
        item.rfind("${ORIGIN}", 0) != 0) {
      return core::join("its ", what, " has '", item,
                        "', which is relative to the current directory; expected $ORIGIN or an "
                        "absolute folder");
    }
    begin = end + 1;
  }
  return {};
}

std::string library_fault(const ElfImage& image, const Elf64_Dyn& e) {
  const bool named = e.d_tag == DT_NEEDED || e.d_tag == DT_AUXILIARY || e.d_tag == DT_FILTER;
  const char* what = named                   ? "list of libraries"
                     : e.d_tag == DT_RUNPATH ? "RUNPATH"
                     : e.d_tag == DT_RPATH   ? "RPATH"
                     : e.d_tag == DT_SONAME  ? "SONAME"
                                             : nullptr;
  if (!what) return {};
  const char* found = image.name(e.d_un.d_val);
  if (!found) return core::join("damaged: its ", what, " has a name outside of the file");
  const std::string text = found;
  if (text.empty()) return named ? "damaged: it needs a library without a name" : "";
  if (e.d_tag == DT_SONAME) return {};
  if (named && text.find('/') == std::string::npos) return {};
  return path_fault(what, text);
}

std::string request_fault(const ElfImage& image) {
  if (image.has(DT_TEXTREL) || (image.value(DT_FLAGS) & DF_TEXTREL))
    return "its code is relocated (DT_TEXTREL); build it with -fPIC";
  if (image.value(DT_FLAGS) & DF_STATIC_TLS) {
    return "its thread-local variables need static space (DF_STATIC_TLS), of which a running "
           "process has little; build "
           "it without -ftls-model=initial-exec";
  }
  for (int64_t tag : {DT_AUDIT, DT_DEPAUDIT, DT_GNU_PRELINKED, DT_GNU_CONFLICT, DT_GNU_LIBLIST,
                      DT_PREINIT_ARRAY, DT_MOVETAB}) {
    if (image.has(tag))
      return core::join("damaged: its dynamic section has tag ", tag, ", which no plugin needs");
  }
  for (const Elf64_Dyn& e : image.dynamic) {
    if (std::string fault = library_fault(image, e); !fault.empty()) return fault;
  }
  return {};
}

}  // namespace

std::string mapping_fault(ElfImage& image) {
  std::string fault = load_fault(image);
  for (std::size_t i = 0; i < image.segments.size() && fault.empty(); ++i)
    fault = part_fault(image, i);
  if (fault.empty()) fault = read_dynamic(image);
  if (fault.empty()) fault = table_fault(image);
  return fault.empty() ? request_fault(image) : fault;
}

}  // namespace tenon::plugins
