// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Formats and the meaning of relocations: the System V ABI, and its supplement for AMD64.
#include "plugin_llvm/link.h"

#include <elf.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "plugin_llvm/helpers.h"

namespace tenon::llvm_loops {
namespace {

// jmp *0(%rip), then the address: helpers may be too far away for a call.
constexpr unsigned char kJump[] = {0xff, 0x25, 0, 0, 0, 0};
constexpr uint64_t kStub = 16;

class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {
    const auto head = at<Elf64_Ehdr>(0);
    check(std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
              head.e_type == ET_REL && head.e_machine == EM_X86_64 &&
              head.e_shentsize == sizeof(Elf64_Shdr),
          "it is not an object for x86-64");
    for (uint64_t i = 0; i < head.e_shnum; ++i)
      sections_.push_back(at<Elf64_Shdr>(head.e_shoff + i * sizeof(Elf64_Shdr)));
  }

  Kernel link() {
    place_sections();
    find_symbols();
    region_ = Region(size_);
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (is_placed(i))
        std::memcpy(region_.at(places_[i]), content(i).data(), sections_[i].sh_size);
    }
    for (const auto& [name, place] : stubs_) write_stub(name, place);
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_type == SHT_RELA && sections_[i].sh_info < sections_.size() &&
          is_placed(sections_[i].sh_info))
        relocate(i);
    }
    region_.make_executable();
    return reinterpret_cast<Kernel>(region_.keep(kernel_));
  }

 private:
  // Memory that is written first and run then.
  class Region {
   public:
    Region() = default;
    explicit Region(uint64_t size) : size_(size) {
      void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      check(p != MAP_FAILED, "there is no memory for it");
      data_ = static_cast<char*>(p);
    }
    Region(Region&& o) noexcept { *this = std::move(o); }
    Region& operator=(Region&& o) noexcept {
      std::swap(data_, o.data_);
      std::swap(size_, o.size_);
      return *this;
    }
    ~Region() {
      if (data_) munmap(data_, size_);
    }
    char* at(uint64_t offset) const { return data_ + offset; }
    void make_executable() const {
      check(mprotect(data_, size_, PROT_READ | PROT_EXEC) == 0, "the system lets no data be run");
    }
    char* keep(uint64_t offset) { return std::exchange(data_, nullptr) + offset; }

   private:
    char* data_ = nullptr;
    uint64_t size_ = 0;
  };

  static void check(bool ok, const std::string& what) {
    if (!ok) throw std::runtime_error("an object cannot be linked: " + what);
  }
  template <class T>
  T at(uint64_t offset) const {
    check(offset <= bytes_.size() && sizeof(T) <= bytes_.size() - offset, "it is truncated");
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof out);
    return out;
  }
  std::string_view content(size_t i) const {
    const Elf64_Shdr& s = sections_[i];
    check(s.sh_offset <= bytes_.size() && s.sh_size <= bytes_.size() - s.sh_offset,
          "it is truncated");
    return bytes_.substr(s.sh_offset, s.sh_size);
  }
  bool is_placed(size_t i) const { return i < places_.size() && places_[i] != kNowhere; }

  // Code and constants, one after the other. Tables for unwinding are left out: nothing throws.
  void place_sections() {
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& s = sections_[i];
      places_.push_back(kNowhere);
      const bool wanted = (s.sh_flags & SHF_ALLOC) && s.sh_type == SHT_PROGBITS && s.sh_size > 0;
      check(!wanted || !(s.sh_flags & (SHF_WRITE | SHF_TLS)), "it has variables");
      check(!(s.sh_flags & SHF_ALLOC) || s.sh_type != SHT_NOBITS || s.sh_size == 0,
            "it has variables");
      if (!wanted || i == 0) continue;
      const uint64_t alignment = s.sh_addralign > 1 ? s.sh_addralign : 1;
      check((alignment & (alignment - 1)) == 0 && alignment <= 4096, "its alignment is impossible");
      size_ = (size_ + alignment - 1) / alignment * alignment;
      places_.back() = size_;
      size_ += content(i).size();
    }
  }

  void find_symbols() {
    for (size_t i = 0; i < sections_.size(); ++i) {
      const Elf64_Shdr& table = sections_[i];
      if (table.sh_type != SHT_SYMTAB) continue;
      check(table.sh_link < sections_.size(), "its symbols have no names");
      const std::string_view all = content(i), names = content(table.sh_link);
      for (uint64_t k = 0; k + sizeof(Elf64_Sym) <= all.size(); k += sizeof(Elf64_Sym)) {
        const auto symbol = at<Elf64_Sym>(table.sh_offset + k);
        check(symbol.st_name < names.size(), "a symbol has no name");
        symbols_.emplace_back(symbol, names.data() + symbol.st_name);
        add_symbol(symbols_.back());
      }
    }
    check(kernel_ != kNowhere, "it has no kernel");
  }
  struct Symbol {
    Symbol(const Elf64_Sym& s, std::string n) : entry(s), name(std::move(n)) {}
    Elf64_Sym entry;
    std::string name;
  };
  void add_symbol(const Symbol& symbol) {
    if (symbol.entry.st_shndx == SHN_UNDEF && !symbol.name.empty()) {
      size_ = (size_ + kStub - 1) / kStub * kStub;
      if (stubs_.emplace(symbol.name, size_).second) size_ += kStub;
    } else if (symbol.name == kKernelName) {
      kernel_ = place(symbol);
    }
  }
  uint64_t place(const Symbol& symbol) const {
    if (symbol.entry.st_shndx == SHN_UNDEF) {
      const auto stub = stubs_.find(symbol.name);
      check(stub != stubs_.end(), "a symbol has no name");
      return stub->second;
    }
    check(is_placed(symbol.entry.st_shndx) &&
              symbol.entry.st_value <= sections_[symbol.entry.st_shndx].sh_size,
          "it refers to what is not there");
    return places_[symbol.entry.st_shndx] + symbol.entry.st_value;
  }

  void write_stub(const std::string& name, uint64_t place) const {
    const void* address = find_helper(name);
    check(address != nullptr, "it calls '" + name + "'");
    std::memcpy(region_.at(place), kJump, sizeof kJump);
    std::memcpy(region_.at(place) + sizeof kJump, &address, sizeof address);
  }

  // S + A - P, in 32 bits.
  void relocate(size_t table) const {
    const Elf64_Shdr& s = sections_[table];
    const uint64_t base = places_[s.sh_info], end = content(s.sh_info).size();
    for (uint64_t k = 0; k + sizeof(Elf64_Rela) <= content(table).size(); k += sizeof(Elf64_Rela)) {
      const auto r = at<Elf64_Rela>(s.sh_offset + k);
      const uint64_t type = ELF64_R_TYPE(r.r_info), symbol = ELF64_R_SYM(r.r_info);
      check(type == R_X86_64_PC32 || type == R_X86_64_PLT32,
            "relocation " + std::to_string(type) + " is not known");
      check(symbol < symbols_.size() && r.r_offset <= end && end - r.r_offset >= 4,
            "a relocation is outside of it");
      const int64_t distance = static_cast<int64_t>(place(symbols_[symbol])) + r.r_addend -
                               static_cast<int64_t>(base + r.r_offset);
      const auto narrow = static_cast<int32_t>(distance);
      check(narrow == distance, "it is too large");
      std::memcpy(region_.at(base + r.r_offset), &narrow, sizeof narrow);
    }
  }

  static constexpr uint64_t kNowhere = UINT64_MAX;
  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<uint64_t> places_;  // of sections, in the region
  std::vector<Symbol> symbols_;
  std::map<std::string, uint64_t> stubs_;  // of helpers
  uint64_t size_ = 0, kernel_ = kNowhere;
  Region region_;
};

}  // namespace

Linked link(std::string_view object) {
  try {
    return {Object(object).link(), ""};
  } catch (const std::exception& e) {
    return {nullptr, e.what()};
  }
}

}  // namespace tenon::llvm_loops
