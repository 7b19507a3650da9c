// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Structs of another size than this core's: older minors are filled with zeros, newer ones cut, the rest refused. No
// byte behind struct_size is read: the page that follows may not be.
#include <gtest/gtest.h>

#include <cstddef>

#include "support.h"
#include "tenon/abi/plugin.h"

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr std::size_t kMany = std::size_t{1} << 40;

struct Struct {
  const char* name;
  std::size_t size, least;  // today's, and what the first release requires
};
const Struct kStructs[] = {
    {"plugin", sizeof(tn_plugin), offsetof(tn_plugin, shutdown)},
    {"device", sizeof(tn_device_api), offsetof(tn_device_api, fill)},
    {"kernel", sizeof(tn_kernel), offsetof(tn_kernel, workspace)},
};

// The fault, or the faults of using it.
std::string outcome(const Struct& s, std::size_t size) {
  return in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}, {"TENON_TEST_SKEW", s.name + (" " + std::to_string(size))}},
                  [] { return use_of(built_plugin("skew"), "relu"); });
}

}  // namespace

TEST(PluginSkew, SizesThatAreLargeEnoughWork) {
  for (const Struct& s : kStructs) {
    for (std::size_t size : {s.least, s.least + 8, s.size - 1, s.size, s.size + 8, s.size + 4096}) {
      EXPECT_EQ(outcome(s, size), "") << s.name << " of " << size << " bytes, today " << s.size;
    }
  }
}

TEST(PluginSkew, OtherSizesAreRefused) {
  for (const Struct& s : kStructs) {
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, s.least - 1}) {
      EXPECT_NE(outcome(s, size).find(s.name == std::string("plugin") ? "its descriptor" : "is too short"),
                std::string::npos)
          << s.name << " of " << size << " bytes: " << outcome(s, size);
    }
    for (std::size_t size : {std::size_t{UINT32_MAX}, kMany, SIZE_MAX}) {
      EXPECT_NE(outcome(s, size).find("says that it has " + std::to_string(size) + " bytes"), std::string::npos)
          << s.name << " of " << size << " bytes: " << outcome(s, size);
    }
  }
}

// The table that core hands out says its own size, and more than 1.0 has is never taken for granted.
TEST(PluginSkew, CoreStatesTheSizesOfWhatItFills) {
  EXPECT_EQ(fault_of(built_plugin("works"), "relu"), "");
  std::string said = refusal(built_plugin("reads_sizes"));
  EXPECT_NE(said.find("the sizes are those of these headers"), std::string::npos) << said;
}
