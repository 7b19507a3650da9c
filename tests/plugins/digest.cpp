// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The digest that detects damage.
#include "plugins/digest.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "support.h"

using namespace tenon;
using namespace tenon::test;

namespace {

std::string digest_of(const fs::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const std::string out = plugins::loaded_digest(fd);
  close(fd);
  return out;
}

std::vector<Elf64_Phdr> segments_of(const std::string& library) {
  Elf64_Ehdr h;
  std::memcpy(&h, library.data(), sizeof h);
  std::vector<Elf64_Phdr> out(h.e_phnum);
  std::memcpy(out.data(), library.data() + h.e_phoff, out.size() * sizeof(Elf64_Phdr));
  return out;
}

// Offsets and addresses in the headers of segments; all of the one that says what becomes
// read-only.
bool is_rewritten_by_strip(const std::string& library, std::size_t at) {
  const auto segments = segments_of(library);
  if (at < sizeof(Elf64_Ehdr) || at >= sizeof(Elf64_Ehdr) + segments.size() * sizeof(Elf64_Phdr))
    return false;
  const std::size_t k = (at - sizeof(Elf64_Ehdr)) / sizeof(Elf64_Phdr),
                    field = (at - sizeof(Elf64_Ehdr)) % sizeof(Elf64_Phdr);
  return (field >= 8 && field < 32) || (segments[k].p_type == PT_GNU_RELRO && field >= 4);
}

// The library with the pages that become read-only moved by so many bytes at either end.
std::string with_relro_moved(const std::string& library, int64_t begin, int64_t end) {
  std::string out = library;
  const auto segments = segments_of(library);
  for (std::size_t k = 0; k < segments.size(); ++k) {
    if (segments[k].p_type != PT_GNU_RELRO) continue;
    Elf64_Phdr p = segments[k];
    p.p_vaddr += static_cast<uint64_t>(begin);
    p.p_memsz += static_cast<uint64_t>(end - begin);
    std::memcpy(&out[sizeof(Elf64_Ehdr) + k * sizeof p], &p, sizeof p);
  }
  return out;
}

}  // namespace

// GNU strip does so to what mold linked.
TEST(PluginDigest, ReadOnlyPagesMayEndElsewhereInThem) {
  Folder f;
  const std::string good = bytes_of(built_plugin("works"));
  const std::string digest = digest_of(built_plugin("works"));
  bool any = false;
  for (const Elf64_Phdr& p : segments_of(good)) {
    if (p.p_type != PT_GNU_RELRO) continue;
    any = true;
    const auto in_page = static_cast<int64_t>(p.p_vaddr % 4096);
    f.write("moved.so", with_relro_moved(good, in_page > 2048 ? -4 : 4, 0));
    EXPECT_EQ(digest_of(f / "moved.so"), digest);
    f.write("later.so", with_relro_moved(good, 4096, 0));
    EXPECT_NE(digest_of(f / "later.so"), digest);
    f.write("longer.so", with_relro_moved(good, 0, 4096));
    EXPECT_NE(digest_of(f / "longer.so"), digest);
  }
  EXPECT_TRUE(any);
}

TEST(PluginDigest, StripChangesNothingAndAnyLoadedByteDoes) {
  Folder f;
  const std::string good = bytes_of(built_plugin("works"));
  const std::string digest = digest_of(built_plugin("works"));
  ASSERT_EQ(digest.size(), 22u);
  f.write("stripped.so", good);
  ASSERT_EQ(std::system(("strip --strip-unneeded '" + (f / "stripped.so").string() + "'").c_str()),
            0);
  EXPECT_LT(fs::file_size(f / "stripped.so"), good.size());
  EXPECT_EQ(digest_of(f / "stripped.so"), digest);
  // The first segment, which is loaded, holds the ELF header, whose section fields alone do not
  // count.
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    const std::size_t at = i < 40 ? static_cast<std::size_t>(i) : 64 + random() % 1024;
    bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    f.write("bad.so", bad);
    if (is_rewritten_by_strip(good, at)) continue;
    EXPECT_NE(digest_of(f / "bad.so"), digest) << "byte " << at;
  }
}

TEST(PluginDigest, IsEmptyForAFileThatIsNotALibrary) {
  Folder f;
  f.write("text", "not a library");
  EXPECT_EQ(digest_of(f / "text"), "");
  f.write("cut", bytes_of(built_plugin("works")).substr(0, 2000));
  EXPECT_EQ(digest_of(f / "cut"), "");
  EXPECT_EQ(plugins::loaded_digest(-1), "");
}
