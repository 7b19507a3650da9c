// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "elf_names.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "tenon/runtime/error.h"

namespace tenon::command {
namespace {

class Image {
 public:
  explicit Image(const std::string& path) : path_(path) {
    std::ifstream in(path, std::ios::binary);
    TENON_CHECK(in, ValueError, path, ": cannot be read");
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  template <class T>
  T at(uint64_t offset) const {
    T out;
    need(offset <= bytes_.size() && sizeof(T) <= bytes_.size() - offset);
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }
  // The text at `offset` of the table `strings`.
  std::string text(const Elf64_Shdr& strings, uint64_t offset) const {
    need(offset < strings.sh_size && strings.sh_offset <= bytes_.size() &&
         strings.sh_size <= bytes_.size() - strings.sh_offset);
    const char* begin = bytes_.data() + strings.sh_offset + offset;
    return std::string(begin, strnlen(begin, strings.sh_size - offset));
  }
  bool is_elf64() const {
    return bytes_.size() >= sizeof(Elf64_Ehdr) &&
           std::memcmp(bytes_.data(), ELFMAG, SELFMAG) == 0 && bytes_[EI_CLASS] == ELFCLASS64 &&
           bytes_[EI_DATA] == ELFDATA2LSB;
  }

 private:
  void need(bool good) const {
    TENON_CHECK(good, ValueError, path_, ": a damaged or truncated ELF file");
  }
  std::string path_;
  std::string bytes_;
};

Elf64_Shdr section(const Image& f, const Elf64_Ehdr& h, uint64_t i) {
  return f.at<Elf64_Shdr>(h.e_shoff + i * sizeof(Elf64_Shdr));
}

bool exported(const Elf64_Sym& s) {
  const int bind = ELF64_ST_BIND(s.st_info), visibility = ELF64_ST_VISIBILITY(s.st_other);
  return s.st_shndx != SHN_UNDEF && s.st_name != 0 && bind != STB_LOCAL &&
         (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

}  // namespace

ElfNames read_elf(const std::string& path) {
  Image f(path);
  TENON_CHECK(f.is_elf64(), ValueError, path, ": not a shared library (no 64-bit ELF header)");
  const auto h = f.at<Elf64_Ehdr>(0);
  TENON_CHECK(h.e_type == ET_DYN, ValueError, path, ": not a shared library (ELF type ",
              int{h.e_type}, ")");
  ElfNames out;
  for (int i = 0; i < h.e_shnum; ++i) {
    const Elf64_Shdr s = section(f, h, static_cast<uint64_t>(i));
    if (s.sh_type != SHT_DYNAMIC && s.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr strings = section(f, h, s.sh_link);
    if (s.sh_type == SHT_DYNAMIC) {
      for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.sh_size; at += sizeof(Elf64_Dyn)) {
        const auto d = f.at<Elf64_Dyn>(s.sh_offset + at);
        if (d.d_tag == DT_NULL) break;
        if (d.d_tag == DT_NEEDED) out.needed.push_back(f.text(strings, d.d_un.d_val));
      }
    } else {
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = f.at<Elf64_Sym>(s.sh_offset + at);
        if (exported(symbol)) out.exports.push_back(f.text(strings, symbol.st_name));
      }
    }
  }
  return out;
}

}  // namespace tenon::command
