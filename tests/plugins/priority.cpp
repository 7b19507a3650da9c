// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which of several plugins' kernels serves, and what opens them.
#include <gtest/gtest.h>

#include "support.h"
#include "tenon/abi/client.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/dtype.h"
#include "tenon/core/op.h"

using namespace tenon;
using namespace tenon::test;

namespace {

tn_str str(const char* s) { return {s, __builtin_strlen(s)}; }

// Which plugin is tried first for relu on the host, with these priorities in the manifests of two
// plugins whose kernels agree in theirs. The second one is found last.
std::string first_of(const std::string& one, const std::string& two) {
  Folder f;
  f.add("host_relu", "host_relu", {{"device", "\"cpu\""}, {"priority", one}});
  f.add("host_relu_second", "host_relu_second", {{"device", "\"cpu\""}, {"priority", two}});
  return in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    plugins::open_all();
    return core::explain(*core::find_op("relu"), 0, ScalarType::Float).at(0).reason;
  });
}

}  // namespace

TEST(PluginPriority, TheHigherManifestServes) {
  EXPECT_EQ(first_of("9", "0"), "plugin host_relu 1.2.3, priority 0, of the plugin 9");
  EXPECT_EQ(first_of("-1", "0"), "plugin host_relu_second 1.2.3, priority 0, of the plugin 0");
  EXPECT_EQ(first_of("0", "9"), "plugin host_relu_second 1.2.3, priority 0, of the plugin 9");
}

TEST(PluginPriority, AmongEqualsTheOneOpenedLastServes) {
  EXPECT_EQ(first_of("3", "3"), "plugin host_relu_second 1.2.3, priority 0, of the plugin 3");
}

// The kernel's own priority, 5 here, comes before that of its plugin.
TEST(PluginPriority, OfKernelsComesFirst) {
  Folder f;
  f.add("host_relu", "host_relu", {{"device", "\"cpu\""}, {"priority", "9"}});
  f.add("host_relu_first", "host_relu_first", {{"device", "\"cpu\""}});
  const std::string who = in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, [] {
    plugins::open_all();
    return core::explain(*core::find_op("relu"), 0, ScalarType::Float).at(0).reason;
  });
  EXPECT_EQ(who, "plugin host_relu_first 1.2.3, priority 5, of the plugin 0");
}

// The device of the plugin has not been used before.
TEST(PluginNames, AnUnknownDtypeOpensThePluginsOfTheHost) {
  Folder f;
  f.add("host_dtype", "host_dtype", {{"device", "\"cpu\""}});
  const std::string said =
      in_child({{"TENON_PLUGIN_PATH", f.path().string()}}, []() -> std::string {
        tn_dtype t;
        return tn_dtype_from_name(str("quarter8"), &t) == TN_OK ? "known" : tn_last_error();
      });
  EXPECT_EQ(said, "known");
}

TEST(PluginNames, AnUnknownOpDoesToo) {
  Folder f;
  f.add("host_dtype", "host_dtype", {{"device", "\"cpu\""}});
  const std::string said = in_child({{"TENON_PLUGIN_PATH", f.path().string()}},
                                    [] { return std::string(core::get_op("acme::quarter").name); });
  EXPECT_EQ(said, "acme::quarter");
}
