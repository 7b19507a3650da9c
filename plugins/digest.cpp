// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <elf.h>
#include <unistd.h>

#define XXH_INLINE_ALL  // nothing to link, so that core depends on no further library
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace tenon::plugins {
namespace {

constexpr std::size_t kPiece = 64 << 10;  // stays in the cache between the read and the hash

// All of [offset, offset + n), or nothing.
bool read_at(int fd, uint64_t offset, void* to, std::size_t n) {
  for (auto* p = static_cast<char*>(to); n > 0;) {
    const ssize_t got = pread(fd, p, n, static_cast<off_t>(offset));
    if (got < 0 && (errno == EIO || errno == ENOMEM || errno == EINTR))  // these may pass
      throw std::system_error(errno, std::generic_category(), "the file cannot be read");
    if (got <= 0) return false;
    p += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<std::size_t>(got);
  }
  return true;
}

// Zeroes the bytes of a piece of the file that lie in [begin, begin + bytes): they are hashed in
// another form.
void zero_range(unsigned char* piece, uint64_t at, std::size_t n, uint64_t begin, uint64_t bytes) {
  const uint64_t from = std::max(at, begin), to = std::min(at + n, begin + bytes);
  if (from < to) std::memset(piece + (from - at), 0, to - from);
}

// The hash of a segment's bytes after `hash` of what comes before it.
bool add_segment(int fd, const Elf64_Ehdr& h, const Elf64_Phdr& p,
                 std::vector<unsigned char>& buffer, uint64_t& hash) {
  for (uint64_t done = 0; done < p.p_filesz;) {
    const std::size_t n = static_cast<std::size_t>(std::min<uint64_t>(kPiece, p.p_filesz - done));
    const uint64_t at = p.p_offset + done;
    if (!read_at(fd, at, buffer.data(), n)) return false;
    zero_range(buffer.data(), at, n, 0, sizeof h);
    zero_range(buffer.data(), at, n, h.e_phoff, uint64_t{h.e_phnum} * sizeof p);
    hash = XXH64(buffer.data(), n, hash);
    done += n;
  }
  return true;
}

// The pages that become read-only after relocation, as the dynamic linker rounds them: `strip`
// moves the ends within their pages to those of sections.
Elf64_Phdr read_only_pages(const Elf64_Phdr& p) {
  constexpr uint64_t kPage = 4096;
  Elf64_Phdr out{};
  out.p_type = p.p_type;
  out.p_vaddr = p.p_vaddr / kPage;
  out.p_memsz = (p.p_vaddr + p.p_memsz) / kPage;
  return out;
}

// Hashes the header fields that a loader uses. `strip` rewrites the others: where sections lie, and
// offsets of segments that are not loaded.
uint64_t hash_of_headers(Elf64_Ehdr h, std::vector<Elf64_Phdr> segments) {
  h.e_shoff = 0;
  h.e_shentsize = h.e_shnum = h.e_shstrndx = 0;
  for (Elf64_Phdr& p : segments) {
    if (p.p_type != PT_LOAD) p.p_offset = 0;
    p.p_paddr = 0;
    if (p.p_type == PT_GNU_RELRO) p = read_only_pages(p);
  }
  return XXH64(segments.data(), segments.size() * sizeof(Elf64_Phdr), XXH64(&h, sizeof h, 0));
}

}  // namespace

std::string loaded_digest(int fd) {
  constexpr int kMaxHeaders = 4096;  // as in elf_check.cpp
  Elf64_Ehdr h;
  if (!read_at(fd, 0, &h, sizeof h) || std::memcmp(h.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum > kMaxHeaders) return {};
  std::vector<Elf64_Phdr> segments(h.e_phnum);
  if (!read_at(fd, h.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) return {};
  uint64_t hash = hash_of_headers(h, segments);
  std::vector<unsigned char> buffer(kPiece);
  for (const Elf64_Phdr& p : segments) {
    if (p.p_type == PT_LOAD && !add_segment(fd, h, p, buffer, hash)) return {};
  }
  std::string out = "xxh64:";
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[hash >> shift & 15];
  return out;
}

}  // namespace tenon::plugins
