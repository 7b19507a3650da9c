// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The digest against damage, and that every plugin of the build has one in its manifest.
#include "plugins/digest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>

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

}  // namespace

// The values of the reference implementation (python3-xxhash 3.2): seed 0 unless said, bytes 0, 1, 2, ... modulo 251.
TEST(PluginDigest, IsXxh64) {
  EXPECT_EQ(plugins::xxh64("", 0, 0), 0xef46db3751d8e999u);
  EXPECT_EQ(plugins::xxh64("a", 1, 0), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(plugins::xxh64("abc", 3, 0), 0x44bc2cf5ad770999u);
  const struct {
    std::size_t bytes;
    uint64_t seed, hash;
  } vectors[] = {
      {4, 0u, 0xffced8604453cc1eu},       {8, 1u, 0x9d2b7c7354fe4e23u},
      {31, 0u, 0xc346d2b59b4d8ee1u},      {32, 0u, 0xcbf59c5116ff32b4u},
      {33, 7u, 0x0c43e57754c778d9u},      {63, 0u, 0xe26aa9e2a95f8e4fu},
      {100, 12345u, 0x028ba1ae2de4de27u}, {65536, 18446744073709551615u, 0xc69c2adac3c64f7eu},
      {70001, 3u, 0x0db0e5a3debc628au},
  };
  for (const auto& v : vectors) {
    std::string data;
    for (std::size_t i = 0; i < v.bytes; ++i) data += static_cast<char>(i % 251);
    EXPECT_EQ(plugins::xxh64(data.data(), data.size(), v.seed), v.hash) << v.bytes;
  }
}

TEST(PluginDigest, StripChangesNothingAndAnyLoadedByteDoes) {
  Folder f;
  const std::string good = bytes_of(built_plugin("works"));
  const std::string digest = digest_of(built_plugin("works"));
  ASSERT_EQ(digest.size(), 22u);
  f.write("stripped.so", good);
  ASSERT_EQ(std::system(("strip --strip-unneeded '" + (f / "stripped.so").string() + "'").c_str()), 0);
  EXPECT_LT(fs::file_size(f / "stripped.so"), good.size());
  EXPECT_EQ(digest_of(f / "stripped.so"), digest);
  // The first segment, which is loaded, holds the ELF header, whose section fields alone do not count.
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    const std::size_t at = i < 40 ? static_cast<std::size_t>(i) : 64 + random() % 1024;
    bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    f.write("bad.so", bad);
    const bool offset = at >= 64 && at < 64 + 56 * 12 && ((at - 64) % 56 >= 8 && (at - 64) % 56 < 32);
    if (offset) continue;
    EXPECT_NE(digest_of(f / "bad.so"), digest) << "byte " << at;
  }
}

TEST(PluginDigest, OfNoLibraryIsEmpty) {
  Folder f;
  f.write("text", "not a library");
  EXPECT_EQ(digest_of(f / "text"), "");
  f.write("cut", bytes_of(built_plugin("works")).substr(0, 2000));
  EXPECT_EQ(digest_of(f / "cut"), "");
  EXPECT_EQ(plugins::loaded_digest(-1), "");
}

TEST(PluginDigest, EveryManifestOfTheBuildHasTheDigestOfItsLibrary) {
  const fs::path folder = fs::canonical("/proc/self/exe").parent_path().parent_path() / "lib";
  int seen = 0;
  for (const fs::directory_entry& e : fs::directory_iterator(folder)) {
    if (e.path().extension() != ".json") continue;
    const auto manifest = nlohmann::json::parse(bytes_of(e.path()));
    EXPECT_EQ(manifest.value("digest", ""), digest_of(folder / manifest.at("library").get<std::string>())) << e.path();
    ++seen;
  }
  EXPECT_GE(seen, 1);
}
