// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "support.h"
#include "tenon/runtime/device.h"

using namespace tenon;
using namespace tenon::test;

namespace {

std::string folders() {
  std::string out;
  for (const std::string& f : plugins::search_folders()) out += f + "\n";
  return out;
}

}  // namespace

TEST(PluginSearch, ThePathVariableIsExclusive) {
  std::string out =
      in_child({{"TENON_PLUGIN_PATH", "/a/x:/b/y/"}, {"TENON_ADD_PLUGIN_PATH", "/c"}}, folders);
  EXPECT_EQ(out, "/a/x\n/b/y\n");
}

TEST(PluginSearch, AddedFoldersComeBeforeTheCoreLibraryAndTheUser) {
  std::string out =
      in_child({{"TENON_ADD_PLUGIN_PATH", "/added"}, {"HOME", "/home/somebody"}}, folders);
  EXPECT_EQ(out.rfind("/added\n", 0), 0u) << out;
  std::size_t core = out.find("/tenon\n"), user = out.find("/home/somebody/.local/lib/tenon\n");
  EXPECT_NE(core, std::string::npos) << out;
  EXPECT_NE(user, std::string::npos) << out;
  EXPECT_LT(core, user);
}

TEST(PluginSearch, RelativeFoldersAndTheCurrentOneAreNeverSearched) {
  Folder here;
  here.add("good", "good");
  std::string out = in_child({{"TENON_PLUGIN_PATH", "./:."}}, [&] {
    if (chdir(here.path().c_str()) != 0) return std::string("chdir failed");
    return folders() + listing();
  });
  EXPECT_EQ(out, "");
}

TEST(PluginSearch, FiltersAreGlobs) {
  Folder f;
  for (const char* name : {"good", "resident", "no_device"}) f.add(name, name);
  std::string path = f.path().string();
  std::string disabled =
      in_child({{"TENON_PLUGIN_PATH", path}, {"TENON_PLUGINS_DISABLE", "x,go*"}}, listing);
  EXPECT_EQ(disabled,
            "good disabled: disabled by TENON_PLUGINS_DISABLE=x,go*\nno_device found: \nresident "
            "found: \n");
  std::string selected =
      in_child({{"TENON_PLUGIN_PATH", path}, {"TENON_PLUGINS_SELECT", "r*"}}, listing);
  EXPECT_NE(selected.find("good disabled: not selected by TENON_PLUGINS_SELECT=r*"),
            std::string::npos)
      << selected;
  EXPECT_NE(selected.find("resident found"), std::string::npos) << selected;
}

TEST(PluginSearch, ALibraryWithoutManifestIsListedOnly) {
  Folder f;
  fs::copy_file(built_plugin("good"), f / "libtenon_good.so");
  std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    plugins::open_all();
    return listing();
  });
  EXPECT_EQ(out, "good refused: no manifest: only an explicit load opens it\n");
}

// A build or an installed tree has them beside core.
TEST(PluginSearch, LibrariesOfTenonAreNoPlugins) {
  Folder f;
  for (const char* file : {"libtenon_jit.so", "libtenon_onnx.so", "libtenon_distributed.so"})
    fs::copy_file(built_plugin("good"), f / file);
  fs::copy_file(built_plugin("good"), f / "libtenon_jitter.so");
  EXPECT_EQ(in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, listing),
            "jitter refused: no manifest: only an explicit load opens it\n");
}

TEST(PluginSearch, TheSameFileThroughTwoFoldersIsOnePlugin) {
  Folder f, g;
  f.add("good", "good");
  fs::create_directory_symlink(f.path(), g / "link");
  std::string out =
      in_child({{"TENON_PLUGIN_PATH", f.path().string() + ":" + (g / "link").string()}}, listing);
  EXPECT_EQ(out, "good found: \n");
}

TEST(PluginSearch, TheFirstOfTwoNamesWins) {
  Folder f, g;
  f.add("good", "good");
  g.add("good", "same_name", {{"device", "\"same_name\""}});
  std::string out =
      in_child({{"TENON_PLUGIN_PATH", f.path().string() + ":" + g.path().string()}}, [] {
        plugins::open_all();
        return listing();
      });
  EXPECT_NE(out.find("good opened"), std::string::npos) << out;
  EXPECT_NE(
      out.find("good refused: another plugin named 'good' was found first: " + f.path().string()),
      std::string::npos)
      << out;
}

TEST(PluginSearch, APluginOpensAtTheFirstUseOfItsDevice) {
  Folder f;
  f.add("good", "good");
  f.add("resident", "resident");
  std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    std::string before = listing();
    core::resolve(Device("good:0"));
    return before + listing();
  });
  EXPECT_EQ(out, "good found: \nresident found: \ngood opened: \nresident found: \n");
}

TEST(PluginSearch, AnAbsentDeviceSaysWhereWasLooked) {
  Folder f;
  std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    core::resolve(Device("cuda"));
    return std::string("resolved");
  });
  EXPECT_NE(out.find("threw:"), std::string::npos) << out;
  EXPECT_NE(out.find("looked for libtenon_cuda.so in " + f.path().string()), std::string::npos)
      << out;
  EXPECT_NE(out.find("found no manifest"), std::string::npos) << out;
}

TEST(PluginSearch, ADeviceWhosePluginIsBrokenSaysWhy) {
  Folder f;
  f.add("cuda", "");
  f.write("libtenon_cuda.so", "not a library");
  std::string out = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    core::resolve(Device("cuda"));
    return std::string("resolved");
  });
  EXPECT_NE(out.find("refused cuda"), std::string::npos) << out;
  EXPECT_NE(out.find("no ELF header"), std::string::npos) << out;
}
