// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "support.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/tensor_impl.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

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

// relu of -1 and 2 through whatever kernel the host has, as text.
std::string relu() {
  int64_t sizes[1] = {2};
  core::Impl x = core::new_tensor("test", kFloat32, core::kHost, 1, sizes);
  auto* values = static_cast<float*>(static_cast<void*>(x->host_data()));
  values[0] = -1, values[1] = 2;
  tn_value in{};
  in.tag = TN_TAG_TENSOR;
  in.u.tensor = &x->view;
  core::TensorImpl* out = nullptr;
  try {
    core::call(core::get_op("relu"), &in, &out);
  } catch (const NotImplementedError&) {
    return "no kernel";
  }
  core::Impl y = core::Impl::adopt(out);
  values = static_cast<float*>(static_cast<void*>(y->host_data()));
  return core::join(values[0], " ", values[1]);
}

fs::path slow_plugin() {
  return built_plugin("x").parent_path().parent_path() / "slow_plugin" / "libtenon_slow.so";
}

std::atomic<bool> g_begun{false};

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
    threads.reserve(20);
    for (int i = 0; i < 20; ++i)
      threads.emplace_back([] { plugins::load(built_plugin("good").string()); });
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

TEST(PluginLife, NoDeviceIsNotAnError) {
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

TEST(PluginLife, TheOtherKernelsOfThatPluginServe) {
  std::string out = fault_of(built_plugin("half_old"), "relu");
  EXPECT_EQ(out.rfind("left out neg: plugin schema does not match neg(Tensor self) -> Tensor\n", 0),
            0u)
      << out;
  EXPECT_EQ(out.find('\n'), out.size() - 1) << "something else failed: " << out;
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
    std::string first =
        i.name + " " + i.version + " " + i.description + " " + std::to_string(i.priority) + "\n";
    plugins::unload("added");
    EXPECT_FALSE(is_mapped(folder / "libtenon_added.so"));
    return first + listing();
  });
  EXPECT_EQ(out, "added 9.8.7 made by tenon_add_plugin 3\nadded closed: unloaded\n");
}

TEST(PluginLife, UnloadIsRefusedWhileATensorIsAlive) {
  std::string out = in_child(kNowhere, [] {
    plugins::load(built_plugin("good").string());
    core::DeviceSlot slot = core::device_slot_from_name("good");
    int64_t sizes[1] = {4};
    core::Impl t = core::new_tensor("test", kFloat32, {slot, 0}, 1, sizes);
    core::Impl u = core::new_tensor("test", kFloat32, {slot, 0}, 1, sizes);
    std::string first = "unloaded";
    try {
      plugins::unload("good");
    } catch (const ValueError& e) {
      first = e.msg();
    }
    first += "\n" + listing();
    u.reset();
    core::new_tensor("test", kFloat32, {slot, 0}, 1, sizes);  // the device is still there
    t.reset();
    plugins::unload("good");
    return first + listing();
  });
  EXPECT_EQ(out,
            "unload: plugin good: device good:0 is in use: 2 storages of tensors hold 1024 bytes "
            "of it; release them first\n"
            "good opened: \ngood closed: unloaded\n");
}

TEST(PluginLife, UnloadWaitsForTheKernelThatRuns) {
  std::string out = in_child(kNowhere, [] {
    core::set_log_handler([](int, std::string_view text) { g_begun = g_begun || text == "begun"; });
    plugins::load(slow_plugin().string());
    std::string result;
    std::thread caller([&] { result = relu(); });
    while (!g_begun) std::this_thread::yield();
    plugins::unload("slow");
    bool mapped = is_mapped(slow_plugin());
    caller.join();
    return core::join(result, mapped ? ", mapped, " : ", unmapped, ", relu());
  });
  EXPECT_EQ(out, "0 2, unmapped, no kernel");
}

TEST(PluginLife, UnloadWhileThreadsKeepCalling) {
  std::string out = in_child(kNowhere, [] {
    std::atomic<bool> stop{false};
    std::vector<std::thread> callers;
    callers.reserve(3);
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&] {
        while (!stop) relu();
      });
    }
    for (int i = 0; i < 3; ++i) {
      plugins::load(slow_plugin().string());
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      plugins::unload("slow");
    }
    stop = true;
    for (std::thread& t : callers) t.join();
    return relu();
  });
  EXPECT_EQ(out, "no kernel");
}

TEST(PluginLife, UnloadFromInsideOfAnOperatorIsRefused) {
  std::string out = in_child(kNowhere, [] {
    static std::string text;
    plugins::load(slow_plugin().string());
    core::set_log_handler([](int, std::string_view) {
      try {
        plugins::unload("slow");
      } catch (const ValueError& e) {
        text = e.what();
      }
    });
    return relu() + ", " + text;
  });
  EXPECT_NE(out.find("0 2, unload: plugin slow: called from inside of an operator"),
            std::string::npos)
      << out;
}

TEST(PluginLife, UnloadOfAnUnknownNameSaysSo) {
  std::string out = in_child(kNowhere, [] {
    EXPECT_THROW(plugins::unload("nobody"), ValueError);
    return std::string();
  });
  EXPECT_EQ(out, "");
}
