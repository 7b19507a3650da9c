// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_symbols.h"

#include <algorithm>
#include <set>

#include "tenon/runtime/error.h"

namespace tenon::plugins {
namespace {

constexpr uint64_t kMaxSymbols = 4u << 20;
constexpr uint64_t kMaxVersions = 0x7fff;  // the index has 15 bits

uint32_t gnu_hash(const char* name) {
  uint32_t h = 5381;
  for (; *name; ++name) h = h * 33 + static_cast<unsigned char>(*name);
  return h;
}

uint32_t elf_hash(const char* name) {
  uint32_t h = 0;
  for (; *name; ++name) {
    h = (h << 4) + static_cast<unsigned char>(*name);
    h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
  }
  return h;
}

// DT_GNU_HASH: a header, a Bloom filter, the first symbol of each bucket, and from `first` on one
// hash for each symbol, whose lowest bit marks the last of a bucket.
struct GnuHash {
  uint32_t header[4] = {};  // number of buckets, first symbol, words of the filter, shift
  std::vector<uint32_t> buckets, hashes;
  uint32_t first() const { return header[1]; }
};

// Empty, or what is wrong; `count` becomes the number of symbols if there are exported ones.
std::string read_gnu_hash(const ElfImage& image, uint64_t room, GnuHash& out, uint64_t& count) {
  const char* const damaged = "damaged: its table of hashes does not match its symbols";
  const uint64_t at = image.value(DT_GNU_HASH);
  if (!image.read(at, out.header, sizeof out.header)) return damaged;
  const uint64_t buckets = out.header[0], words = out.header[2];
  if (buckets == 0 || words == 0 || (words & (words - 1)) || out.header[3] > 31) return damaged;
  const uint64_t begin = at + sizeof out.header + words * 8, hashes = begin + buckets * 4;
  if (buckets > kMaxSymbols || !image.stored(at, hashes - at)) return damaged;
  out.buckets.resize(buckets);
  if (!image.read(begin, out.buckets.data(), buckets * 4)) return damaged;
  const uint64_t last = *std::max_element(out.buckets.begin(), out.buckets.end());
  if (last == 0) return {};
  if (out.first() == 0 || last < out.first() || last >= room) return damaged;
  for (uint64_t n = last - out.first() + 1;; n = std::min(n * 2, room - out.first())) {
    const Elf64_Phdr* p = image.stored(hashes, 0);
    const uint64_t stored = (p->p_vaddr + p->p_filesz - hashes) / 4;
    const uint64_t begin_of_last = last - out.first();
    out.hashes.resize(std::min(n, stored));
    if (!image.read(hashes, out.hashes.data(), out.hashes.size() * 4)) return damaged;
    for (uint64_t i = begin_of_last; i < out.hashes.size(); ++i) {
      if ((out.hashes[i] & 1) == 0) continue;
      out.hashes.resize(i + 1);
      count = out.first() + out.hashes.size();
      return {};
    }
    if (n >= stored || n >= room - out.first()) return damaged;
  }
}

// Whether each exported symbol is in the bucket of its name's hash. That no bit of the names is
// damaged follows.
std::string gnu_hash_fault(const ElfImage& image, const GnuHash& h) {
  uint64_t runs = 0;
  uint32_t bucket = 0;
  for (uint64_t i = 0; i < h.hashes.size(); ++i) {
    const uint64_t symbol = h.first() + i;
    const char* name = image.name(image.symbols[symbol].st_name);
    const uint32_t hash = gnu_hash(name);
    const auto own = static_cast<uint32_t>(hash % h.buckets.size());
    const bool begins = i == 0 || (h.hashes[i - 1] & 1);
    if (begins) bucket = own, ++runs;
    if ((hash | 1) != (h.hashes[i] | 1) || own != bucket || (begins && h.buckets[own] != symbol))
      return core::join("damaged: its table of hashes does not match symbol ", symbol);
  }
  const auto used = static_cast<uint64_t>(
      std::count_if(h.buckets.begin(), h.buckets.end(), [](uint32_t b) { return b != 0; }));
  return used == runs ? "" : "damaged: its table of hashes does not match its symbols";
}

// DT_HASH: the numbers of buckets and symbols, the first symbol of each bucket, and the next one of
// each symbol.
std::string hash_table_fault(const ElfImage& image, uint64_t room, uint64_t& count) {
  const char* const damaged = "damaged: its table of hashes does not match its symbols";
  uint32_t n[2] = {};
  const uint64_t at = image.value(DT_HASH);
  if (!image.read(at, n, sizeof n) || n[0] == 0 || n[0] > kMaxSymbols || n[1] > room ||
      n[1] < count)
    return damaged;
  std::vector<uint32_t> next(uint64_t{n[0]} + n[1]);
  if (!image.read(at + sizeof n, next.data(), next.size() * 4)) return damaged;
  uint64_t steps = 0;
  for (uint32_t b = 0; b < n[0]; ++b) {
    for (uint32_t i = next[b]; i != 0; i = next[n[0] + i]) {
      if (i >= n[1] || ++steps > n[1]) return damaged;
    }
  }
  count = n[1];
  return {};
}

std::string symbol_fault(const ElfImage& image, uint64_t i) {
  const Elf64_Sym& s = image.symbols[i];
  const char* name = image.name(s.st_name);
  if (!name) return core::join("damaged: symbol ", i, " has a name outside of the file");
  const int type = ELF64_ST_TYPE(s.st_info);
  if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || type == STT_SECTION) return {};
  auto outside = [&] { return core::join("damaged: symbol ", name, " is outside of the library"); };
  if (type == STT_TLS) {
    const Elf64_Phdr* tls = image.first(PT_TLS);
    return tls && s.st_value <= tls->p_memsz ? "" : outside();
  }
  if (type == STT_FUNC || type == STT_GNU_IFUNC)
    return image.stored(s.st_value, 1, PF_X)
               ? ""
               : core::join("damaged: symbol ", name, " is not in executable code");
  if (type == STT_OBJECT) return image.mapped(s.st_value, s.st_size) ? "" : outside();
  return s.st_value <= image.end() ? "" : outside();  // _end is after the last byte
}

// The versions of one needed library; adds their indices.
std::string needed_fault(const ElfImage& image, const Elf64_Verneed& need, uint64_t at,
                         std::set<uint64_t>& indices) {
  const char* const damaged = "damaged: its table of needed versions is not whole";
  const char* library = image.name(need.vn_file);
  const bool known =
      library && std::any_of(image.dynamic.begin(), image.dynamic.end(), [&](auto& d) {
        return d.d_tag == DT_NEEDED && image.name(d.d_un.d_val) == std::string(library);
      });
  if (need.vn_version != VER_NEED_CURRENT || need.vn_cnt == 0) return damaged;
  if (!known) return "damaged: it needs a version of a library that it does not need";
  at += need.vn_aux;
  for (uint64_t n = 1;; ++n) {
    Elf64_Vernaux v;
    if (!image.read(at, &v, sizeof v)) return damaged;
    const char* name = image.name(v.vna_name);
    if (!name || elf_hash(name) != v.vna_hash)
      return core::join("damaged: a version that it needs of ", library, " has no usable name");
    indices.insert(v.vna_other & kMaxVersions);
    if ((v.vna_next == 0) != (n == need.vn_cnt)) return damaged;
    if (v.vna_next == 0) return {};
    at += v.vna_next;
  }
}

std::string needed_versions_fault(const ElfImage& image, std::set<uint64_t>& indices) {
  const uint64_t count = image.value(DT_VERNEEDNUM);
  uint64_t at = image.value(DT_VERNEED);
  for (uint64_t n = 1; image.has(DT_VERNEED); ++n) {
    Elf64_Verneed need;
    if (!image.read(at, &need, sizeof need) || (need.vn_next == 0) != (n == count))
      return "damaged: its table of needed versions is not whole";
    if (std::string fault = needed_fault(image, need, at, indices); !fault.empty()) return fault;
    if (need.vn_next == 0) break;
    at += need.vn_next;
  }
  return {};
}

std::string defined_versions_fault(const ElfImage& image, std::set<uint64_t>& indices) {
  const char* const damaged = "damaged: its table of defined versions is not whole";
  const uint64_t count = image.value(DT_VERDEFNUM);
  uint64_t at = image.value(DT_VERDEF);
  for (uint64_t n = 1; image.has(DT_VERDEF); ++n) {
    Elf64_Verdef d;
    Elf64_Verdaux name;
    if (!image.read(at, &d, sizeof d) || (d.vd_next == 0) != (n == count) ||
        d.vd_version != VER_DEF_CURRENT || !image.read(at + d.vd_aux, &name, sizeof name))
      return damaged;
    const char* text = image.name(name.vda_name);
    if (!text || elf_hash(text) != d.vd_hash)
      return "damaged: a version that it defines has no usable name";
    indices.insert(d.vd_ndx & kMaxVersions);
    if (d.vd_next == 0) break;
    at += d.vd_next;
  }
  return {};
}

std::string versions_fault(const ElfImage& image) {
  std::set<uint64_t> indices = {VER_NDX_LOCAL, VER_NDX_GLOBAL};
  std::string fault = needed_versions_fault(image, indices);
  if (fault.empty()) fault = defined_versions_fault(image, indices);
  if (!fault.empty()) return fault;
  if (!image.has(DT_VERSYM)) {
    return indices.size() > 2 ? "damaged: its symbols have no versions" : "";
  }
  std::vector<uint16_t> versions(image.symbols.size());
  if (!image.read(image.value(DT_VERSYM), versions.data(), versions.size() * 2))
    return "damaged: its table of versions is not mapped";
  for (uint64_t i = 1; i < versions.size(); ++i) {
    if (indices.count(versions[i] & kMaxVersions) == 0)
      return core::join("damaged: symbol ", i, " has a version that is neither needed nor defined");
  }
  return {};
}

}  // namespace

std::string symbols_fault(ElfImage& image) {
  const uint64_t room = std::min(image.room(DT_SYMTAB, sizeof(Elf64_Sym)), kMaxSymbols);
  uint64_t count = 0;
  GnuHash hashes;
  std::string fault;
  if (!image.has(DT_GNU_HASH) && !image.has(DT_HASH)) return "damaged: it has no table of hashes";
  if (image.has(DT_GNU_HASH)) fault = read_gnu_hash(image, room, hashes, count);
  if (fault.empty() && image.has(DT_HASH)) fault = hash_table_fault(image, room, count);
  if (!fault.empty()) return fault;
  if (count == 0) return "exports no symbol: not a Tenon plugin";
  image.symbols.resize(count);
  if (!image.read(image.value(DT_SYMTAB), image.symbols.data(),
                  image.symbols.size() * sizeof(Elf64_Sym)))
    return "damaged: its table of symbols is not mapped";
  for (uint64_t i = 1; i < image.symbols.size() && fault.empty(); ++i)
    fault = symbol_fault(image, i);
  if (fault.empty()) fault = gnu_hash_fault(image, hashes);
  return fault.empty() ? versions_fault(image) : fault;
}

}  // namespace tenon::plugins
