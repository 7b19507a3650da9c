// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The digest that detects damage.
#include "plugins/digest.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

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
    const bool offset =
        at >= 64 && at < 64 + 56 * 12 && ((at - 64) % 56 >= 8 && (at - 64) % 56 < 32);
    if (offset) continue;
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
