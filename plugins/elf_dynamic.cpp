// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_dynamic.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tenon/runtime/error.h"
#include "transient.h"

namespace tenon::plugins {
namespace {

constexpr uint64_t kMaxMapped = uint64_t{4} << 30;  // bytes of all segments, the gaps included
constexpr uint64_t kMaxEntries = 4096;              // of the dynamic section
constexpr uint64_t kMaxStrings = 64u << 20;
constexpr uint64_t kPage = 4096;

struct Dynamic {
  std::vector<Elf64_Dyn> entries;
  std::string strings;
  uint64_t value(int64_t tag, uint64_t otherwise = 0) const {
    for (const Elf64_Dyn& d : entries) {
      if (d.d_tag == tag) return d.d_un.d_val;
    }
    return otherwise;
  }
  bool has(int64_t tag) const {
    for (const Elf64_Dyn& d : entries) {
      if (d.d_tag == tag) return true;
    }
    return false;
  }
};

std::string load_fault(const std::vector<Elf64_Phdr>& segments) {
  uint64_t end = 0, first = UINT64_MAX;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Elf64_Phdr& p = segments[i];
    if (p.p_type != PT_LOAD) continue;
    auto damaged = [&](const char* what) { return core::join("damaged: segment ", i, what); };
    if (p.p_memsz < p.p_filesz) return damaged(" has no room");
    if (p.p_memsz > kMaxMapped || p.p_vaddr > kMaxMapped) return damaged(" is mapped beyond 4 GiB");
    if (p.p_align & (p.p_align - 1)) return damaged(" has an alignment that is not a power of two");
    if (p.p_align > kMaxMapped || (p.p_vaddr - p.p_offset) % kPage != 0)
      return damaged(" is not aligned to pages");
    if (p.p_vaddr < end) return damaged(" overlaps the one before");
    if ((p.p_flags & PF_W) && (p.p_flags & PF_X))
      return core::join("segment ", i, " is writable and executable");
    if (p.p_flags & ~(PF_R | PF_W | PF_X)) return damaged(" has unknown flags");
    if (first == UINT64_MAX) first = p.p_vaddr;
    end = p.p_vaddr + p.p_memsz;
  }
  if (first == UINT64_MAX) return "damaged: no segment is loaded";
  return first == 0 ? "" : "damaged: its first segment is not mapped at 0";
}

// Whether some loaded segment has all of these addresses; with `offset`, where they lie in the
// file.
bool is_mapped(const std::vector<Elf64_Phdr>& segments, uint64_t address, uint64_t bytes,
               uint64_t* offset = nullptr) {
  for (const Elf64_Phdr& p : segments) {
    uint64_t size = offset ? p.p_filesz : p.p_memsz;
    if (p.p_type != PT_LOAD || address < p.p_vaddr || address - p.p_vaddr > size) continue;
    if (bytes > size - (address - p.p_vaddr)) continue;
    if (offset) *offset = p.p_offset + (address - p.p_vaddr);
    return true;
  }
  return false;
}

std::string read_dynamic(const ElfFile& f, const std::vector<Elf64_Phdr>& segments, Dynamic& out) {
  for (const Elf64_Phdr& p : segments) {
    if (p.p_type != PT_DYNAMIC) continue;
    uint64_t offset = 0;
    if (p.p_filesz / sizeof(Elf64_Dyn) > kMaxEntries ||
        !is_mapped(segments, p.p_vaddr, p.p_filesz, &offset) || offset != p.p_offset) {
      return "damaged: the dynamic section is not mapped";
    }
    out.entries.resize(p.p_filesz / sizeof(Elf64_Dyn));
    if (!f.read(offset, out.entries.data(), out.entries.size() * sizeof(Elf64_Dyn)))
      return "the file cannot be read";
  }
  std::size_t n = 0;
  while (n < out.entries.size() && out.entries[n].d_tag != DT_NULL) ++n;
  if (n == out.entries.size()) return "damaged: the dynamic section has no end";
  out.entries.resize(n);
  uint64_t offset = 0, bytes = out.value(DT_STRSZ);
  if (bytes > kMaxStrings || !is_mapped(segments, out.value(DT_STRTAB), bytes, &offset)) {
    return "damaged: the names of the dynamic section are not mapped";
  }
  out.strings.resize(bytes);
  return f.read(offset, out.strings.data(), bytes) ? "" : "the file cannot be read";
}

std::string table_fault(const std::vector<Elf64_Phdr>& segments, const Dynamic& d) {
  const struct {
    const char* name;
    int64_t at, bytes;
    uint64_t entry;
  } tables[] = {{"symbols", DT_SYMTAB, -1, sizeof(Elf64_Sym)},
                {"relocations", DT_RELA, DT_RELASZ, sizeof(Elf64_Rela)},
                {"jump relocations", DT_JMPREL, DT_PLTRELSZ, sizeof(Elf64_Rela)},
                {"constructors", DT_INIT_ARRAY, DT_INIT_ARRAYSZ, sizeof(Elf64_Addr)},
                {"destructors", DT_FINI_ARRAY, DT_FINI_ARRAYSZ, sizeof(Elf64_Addr)},
                {"hashes", DT_GNU_HASH, -1, 4},
                {"hashes", DT_HASH, -1, 4},
                {"versions", DT_VERSYM, -1, 2},
                {"init code", DT_INIT, -1, 1},
                {"exit code", DT_FINI, -1, 1}};
  for (const auto& t : tables) {
    if (!d.has(t.at)) {
      if (t.at == DT_SYMTAB) return "damaged: it has no table of symbols";
      continue;
    }
    uint64_t bytes = t.bytes < 0 ? t.entry : d.value(t.bytes);
    if (bytes % t.entry != 0 || !is_mapped(segments, d.value(t.at), bytes)) {
      return core::join("damaged: its table of ", t.name, " is not mapped");
    }
  }
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

std::string request_fault(const Dynamic& d) {
  if (d.has(DT_TEXTREL) || (d.value(DT_FLAGS) & DF_TEXTREL))
    return "its code is relocated (DT_TEXTREL); build it with -fPIC";
  if (d.value(DT_FLAGS) & DF_STATIC_TLS) {
    return "its thread-local variables need static space (DF_STATIC_TLS), of which a running "
           "process has little; build "
           "it without -ftls-model=initial-exec";
  }
  for (const Elf64_Dyn& e : d.entries) {
    const char* what = e.d_tag == DT_NEEDED    ? "list of libraries"
                       : e.d_tag == DT_RUNPATH ? "RUNPATH"
                                               : "RPATH";
    if (e.d_tag != DT_NEEDED && e.d_tag != DT_RUNPATH && e.d_tag != DT_RPATH) continue;
    std::size_t end =
        e.d_un.d_val < d.strings.size() ? d.strings.find('\0', e.d_un.d_val) : std::string::npos;
    if (end == std::string::npos)
      return core::join("damaged: its ", what, " has a name outside of the file");
    std::string text = d.strings.substr(e.d_un.d_val, end - e.d_un.d_val);
    if (text.empty()) {
      if (e.d_tag == DT_NEEDED) return "damaged: it needs a library without a name";
      continue;
    }
    if (e.d_tag == DT_NEEDED && text.find('/') == std::string::npos) continue;
    if (std::string fault = path_fault(what, text); !fault.empty()) return fault;
  }
  return {};
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

std::string mapping_fault(const ElfFile& f, const std::vector<Elf64_Phdr>& segments) {
  if (std::string fault = load_fault(segments); !fault.empty()) return fault;
  Dynamic d;
  std::string fault = read_dynamic(f, segments, d);
  if (fault.empty()) fault = table_fault(segments, d);
  return fault.empty() ? request_fault(d) : fault;
}

}  // namespace tenon::plugins
