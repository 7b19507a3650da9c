// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Files that are not plugins, or broken ones: each is refused with its own reason, and the process
// continues.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support.h"

using namespace tenon;
using namespace tenon::test;

TEST(PluginRefusal, FilesThatAreNotLibraries) {
  Folder f;
  f.write("libtenon_empty.so", "");
  f.write("libtenon_text.so", "int main() { return 0; }\n");
  fs::create_directory(f / "libtenon_folder.so");
  ASSERT_EQ(mkfifo((f / "libtenon_fifo.so").c_str(), 0600), 0);
  fs::create_symlink("/nonexistent", f / "libtenon_dangling.so");
  expect_refused(f / "libtenon_missing.so", "o such file");
  expect_refused(f / "libtenon_dangling.so", "o such file");
  expect_refused(f / "libtenon_empty.so", "the file is empty");
  expect_refused(f / "libtenon_text.so", "no ELF header");
  expect_refused(f / "libtenon_folder.so", "a directory, not a file");
  expect_refused(f / "libtenon_fifo.so", "not a regular file");
}

TEST(PluginRefusal, TruncatedAtManyPlaces) {
  std::string whole = bytes_of(built_plugin("good"));
  ASSERT_GT(whole.size(), 1000u);
  Folder f;
  for (int i = 0; i < 200; ++i) {
    std::size_t length = i < 64 ? static_cast<std::size_t>(i)
                                : whole.size() * static_cast<std::size_t>(i - 64) / 136;
    std::string name = "libtenon_cut" + std::to_string(i) + ".so";
    f.write(name, whole.substr(0, length));
    EXPECT_NE(refusal(f / name), "")
        << "cut after " << length << " of " << whole.size() << " bytes";
  }
}

TEST(PluginRefusal, ForeignHeaders) {
  std::string whole = bytes_of(built_plugin("good"));
  struct {
    const char* name;
    std::size_t at;
    char value;
    const char* reason;
  } cases[] = {
      {"class32", 4, 1, "not a 64-bit library"},
      {"bigendian", 5, 2, "big-endian"},
      {"machine", 18, 2, "built for another machine"},
      {"executable", 16, 2, "not a shared library (ELF type 2)"},
      {"no_headers", 56, 0, "no usable program headers"},
      {"entry_size", 54, 1, "no usable program headers"},
      {"offset", 38, 127, "program headers are cut off"},
      {"sections", 46, 127, "section headers are cut off"},
  };
  Folder f;
  for (auto& c : cases) {
    std::string bytes = whole;
    bytes[c.at] = c.value;
    std::string name = std::string("libtenon_") + c.name + ".so";
    f.write(name, bytes);
    expect_refused(f / name, c.reason);
  }
}

TEST(PluginRefusal, ABrokenOneDoesNotKeepTheOthersOut) {
  Folder f;
  f.write("libtenon_broken.json", "{");
  f.add("text", "");
  f.write("libtenon_text.so", "text");
  for (const char* name : {"init_fails", "wrong_major", "no_entry", "good"}) f.add(name, name);
  std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    plugins::open_all();
    return listing();
  });
  EXPECT_NE(out.find("good opened: \n"), std::string::npos) << out;
  for (const char* name : {"broken", "text", "init_fails", "wrong_major", "no_entry"}) {
    EXPECT_NE(out.find(std::string(name) + " refused: "), std::string::npos) << name << "\n" << out;
  }
}
