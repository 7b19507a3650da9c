// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support.h"

using namespace tenon;
using namespace tenon::test;

namespace {

struct Fault {
  const char* what;
  std::map<std::string, std::string> fields;
  const char* reason;
};

std::string open_listing(const Folder& f) {
  return in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    plugins::open_all();
    return listing();
  });
}

std::string listing_with(const Fault& fault) {
  Folder f;
  f.add("good", "good", fault.fields);
  f.add("resident", "resident");
  return open_listing(f);
}

}  // namespace

TEST(PluginManifest, EachFaultHasItsReasonAndTheRestGoesOn) {
  const Fault faults[] = {
      {"no name", {{"name", ""}}, "field 'name' is missing"},
      {"an invalid name", {{"name", "\"a/b\""}}, "field 'name' must have 1 to 64"},
      {"a name of another type", {{"name", "3"}}, "field 'name' is 3; expected"},
      {"no library", {{"library", ""}}, "field 'library' is missing"},
      {"no device", {{"device", ""}}, "field 'device' is missing"},
      {"an impossible device", {{"device", "\"No Device\""}}, "field 'device'"},
      {"no abi", {{"abi", ""}}, "field 'abi' is missing"},
      {"abi is a text", {{"abi", "\"1.0\""}}, "field 'abi' must be an object"},
      {"abi without major", {{"abi", "{}"}}, "field 'major' is missing"},
      {"another major", {{"abi", R"({"major": 2})"}}, "plugin good speaks ABI 2.0, core 1."},
      {"a newer minor",
       {{"abi", R"({"major": 1, "min_minor": 99})"}},
       "plugin good speaks ABI 1.99, core 1."},
      {"another machine", {{"arch", "\"sparc\""}}, "built for sparc, this machine is"},
      {"a feature nobody has",
       {{"cpu_features", "[\"avx9000\"]"}},
       "this processor has no avx9000"},
      {"layouts of a wrong type", {{"layouts", "[1]"}}, "field 'layouts'"},
      {"operators of a wrong type", {{"operators", "{}"}}, "field 'operators'"},
      {"a short hash", {{"sha256", "\"abc\""}}, "64 lower-case hex digits"},
      {"another hash",
       {{"sha256", '"' + std::string(64, '0') + '"'}},
       "its SHA-256 is not the manifest's"},
      {"a short digest",
       {{"digest", "\"xxh64:12\""}},
       "field 'digest' must have 'xxh64:' and 16 lower-case hex digits"},
      {"an unknown digest",
       {{"digest", "\"crc32:0123456789abcdef\""}},
       "field 'digest' must have 'xxh64:'"},
      {"another digest",
       {{"digest", "\"xxh64:0123456789abcdef\""}},
       "its digest is not the manifest's: it is damaged, or"},
      {"a broken priority",
       {{"priority", "1.5"}},
       "field 'priority' is 1.5; expected an integer of 32 bits"},
      {"a huge priority",
       {{"priority", "99999999999"}},
       "field 'priority' is 99999999999; expected an integer"},
      {"a true major",
       {{"abi", R"({"major": true})"}},
       "field 'major' is true; expected an integer"},
      {"a field twice", {{"priority", "1, \"priority\": 2"}}, "names 'priority' twice"},
      {"a field twice below", {{"abi", R"({"major": 1, "major": 1})"}}, "names 'major' twice"},
      {"a missing library", {{"library", "\"libtenon_gone.so\""}}, "no such file"},
      {"another plugin's library",
       {{"name", "\"other\""}},
       "its manifest gives the name 'other', the library 'good'"},
      {"another device",
       {{"device", "\"other\""}},
       "its manifest gives the device 'other', the library 'good'"},
  };
  for (const Fault& fault : faults) {
    std::string out = listing_with(fault);
    EXPECT_NE(out.find("refused"), std::string::npos) << fault.what << "\n" << out;
    EXPECT_NE(out.find(fault.reason), std::string::npos) << fault.what << "\n" << out;
    EXPECT_NE(out.find("resident opened"), std::string::npos) << fault.what << "\n" << out;
  }
}

TEST(PluginManifest, TextThatIsNotJson) {
  for (const char* text : {"", "{", "[]", "\"x\"", "not json", "{\"name\": \"\xff\"}"}) {
    Folder f;
    f.add("good", "good");
    f.write("libtenon_good.json", text);
    f.add("resident", "resident");
    std::string out = open_listing(f);
    EXPECT_NE(out.find("good refused: manifest "), std::string::npos) << text << "\n" << out;
    EXPECT_NE(out.find("resident opened"), std::string::npos) << text << "\n" << out;
  }
}

TEST(PluginManifest, UnknownFieldsAreSkipped) {
  std::string out = listing_with({"", {{"color", "\"green\""}, {"arch", ""}}, ""});
  EXPECT_NE(out.find("good opened"), std::string::npos) << out;
}

TEST(PluginManifest, AnIsolatedPluginRunsFromASealedCopy) {
  std::string out = listing_with({"", {{"isolated", "true"}}, ""});
  EXPECT_NE(out.find("good opened"), std::string::npos) << out;
}

TEST(PluginManifest, OneThatOthersMayWriteIsRefused) {
  Folder f;
  f.add("good", "good");
  fs::permissions(f / "libtenon_good.json", fs::perms::others_write, fs::perm_options::add);
  f.add("resident", "resident");
  std::string out = open_listing(f);
  EXPECT_NE(out.find("good refused: " + (f / "libtenon_good.json").string() +
                     ": the file may be written by others"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("resident opened"), std::string::npos) << out;
}

TEST(PluginManifest, ALinkIntoAFolderThatOthersMayWriteIsRefused) {
  Folder f, open;
  f.add("good", "good");
  fs::permissions(open.path(), fs::perms::others_all, fs::perm_options::add);
  fs::rename(f / "libtenon_good.json", open / "libtenon_good.json");
  fs::create_symlink(open / "libtenon_good.json", f / "libtenon_good.json");
  const std::string out = open_listing(f);
  EXPECT_NE(
      out.find("good refused: " + open.path().string() + ": the folder may be written by others"),
      std::string::npos)
      << out;
}

// As Vulkan's and OpenCL's manifests do: the library's own file and folders are checked wherever it
// lies.
TEST(PluginManifest, TheLibraryMayLieInAnotherFolder) {
  Folder f, other;
  other.add("good", "good");
  f.add("good", "", {{"library", '"' + (other / "libtenon_good.so").string() + '"'}});
  EXPECT_NE(open_listing(f).find("good opened"), std::string::npos);
  fs::permissions(other.path(), fs::perms::others_all, fs::perm_options::add);
  EXPECT_NE(open_listing(f).find("the folder may be written by others"), std::string::npos);
}
