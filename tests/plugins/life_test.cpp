// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "support.h"
#include "tenon/core/device.h"
#include "tenon/core/error.h"
#include "tenon/core/tensor_impl.h"

using namespace tenon;
using namespace tenon::test;

namespace {

const std::map<std::string, std::string> kNowhere = {{"TENON_PLUGIN_PATH", "/nonexistent"}};

bool is_mapped(const fs::path& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(file.string()) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST(PluginLife, AnExplicitLoadNeedsNoManifestAndIsIdempotent) {
  std::string out = in_child(kNowhere, [] {
    plugins::Info a = plugins::load(built_plugin("good").string());
    plugins::Info b = plugins::load(built_plugin("good").string());
    EXPECT_EQ(a.library, b.library);
    return a.name + " " + a.version + " " + a.vendor + " " + a.device + "\n" + listing();
  });
  EXPECT_EQ(out, "good 1.2.3 Tenon tests good\ngood opened: \n");
}

TEST(PluginLife, TwentyThreadsLoadOneFile) {
  std::string out = in_child(kNowhere, [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i) threads.emplace_back([] { plugins::load(built_plugin("good").string()); });
    for (std::thread& t : threads) t.join();
    return listing();
  });
  EXPECT_EQ(out, "good opened: \n");
}

TEST(PluginLife, ASecondPluginOfTheSameNameIsRefused) {
  std::string out = in_child(kNowhere, [] {
    plugins::load(built_plugin("good").string());
    try {
      plugins::load(built_plugin("same_name").string());
    } catch (const BackendError& e) {
      return std::string(e.what());
    }
    return std::string("loaded");
  });
  EXPECT_NE(out.find("a plugin named 'good' is open already"), std::string::npos) << out;
}

TEST(PluginLife, NoDeviceIsNoFault) {
  std::string out = in_child(kNowhere, [] {
    plugins::load(built_plugin("no_device").string());
    return listing();
  });
  EXPECT_EQ(out, "no_device no device: no toy on the table\n");
}

TEST(PluginLife, AKernelForAnotherSchemaIsLeftOutAlone) {
  std::string out = in_child(kNowhere, [] {
    plugins::Info i = plugins::load(built_plugin("old_schema").string());
    return std::to_string(i.kernels) + " " + (i.quarantined.empty() ? "none" : i.quarantined[0]);
  });
  EXPECT_EQ(out.rfind("0 ", 0), 0u) << out;
  EXPECT_NE(out.find("add.Tensor"), std::string::npos) << out;
  EXPECT_NE(out.find("does not match"), std::string::npos) << out;
}

TEST(PluginLife, UnloadIsOptIn) {
  std::string out = in_child(kNowhere, [] {
    plugins::load(built_plugin("resident").string());
    try {
      plugins::unload("resident");
    } catch (const ValueError& e) {
      return std::string(e.what());
    }
    return std::string("unloaded");
  });
  EXPECT_NE(out.find("TN_PLUGIN_UNLOADABLE"), std::string::npos) << out;
}

TEST(PluginLife, UnloadUnmapsAndTheFileLoadsAgain) {
  std::string out = in_child(kNowhere, [] {
    fs::path file = built_plugin("good");
    plugins::load(file.string());
    EXPECT_TRUE(is_mapped(file));
    plugins::unload("good");
    EXPECT_FALSE(is_mapped(file));
    std::string closed = listing();
    plugins::load(file.string());
    return closed + listing();
  });
  EXPECT_EQ(out, "good closed: unloaded\ngood opened: \n");
}

TEST(PluginLife, OneMadeByTheBuildFunctionOpensAndCloses) {
  fs::path folder = built_plugin("x").parent_path().parent_path() / "added_plugin";
  std::string out = in_child({{"TENON_PLUGIN_PATH", folder.string()}}, [&] {
    plugins::open_all();
    plugins::Info i = plugins::list().at(0);
    std::string first = i.name + " " + i.version + " " + i.description + " " + std::to_string(i.priority) + "\n";
    plugins::unload("added");
    EXPECT_FALSE(is_mapped(folder / "libtenon_added.so"));
    return first + listing();
  });
  EXPECT_EQ(out, "added 9.8.7 made by tenon_add_plugin 3\nadded closed: unloaded\n");
}

TEST(PluginLife, UnloadIsRefusedWhileATensorIsAlive) {
  std::string out = in_child(kNowhere, [] {
    plugins::load(built_plugin("good").string());
    int slot = core::device_slot_from_name("good");
    int64_t sizes[1] = {4};
    core::Impl t = core::new_tensor("test", kFloat32, slot, 0, 1, sizes);
    std::string first = "unloaded";
    try {
      plugins::unload("good");
    } catch (const ValueError& e) {
      first = "refused";
    }
    return first + "\n" + listing();
  });
  EXPECT_EQ(out, "refused\ngood opened: \n");
}

TEST(PluginLife, UnloadOfAnUnknownNameSaysSo) {
  std::string out = in_child(kNowhere, [] {
    EXPECT_THROW(plugins::unload("nobody"), ValueError);
    return std::string();
  });
  EXPECT_EQ(out, "");
}
