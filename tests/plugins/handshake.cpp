// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Structs of another size than this core's: older minors are filled with zeros, newer ones cut, the
// rest refused. No byte after struct_size is read: the page that follows is not readable.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "support.h"
#include "tenon/abi/plugin.h"
#include "tenon/core/backend.h"
#include "tenon/core/host_services.h"
#include "tenon/runtime/log.h"

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr std::size_t kMany = std::size_t{1} << 40;

struct Struct {
  const char* name;
  std::size_t size, min_size;  // today's, and what the first release requires
};
const Struct kStructs[] = {
    {"plugin", sizeof(tn_plugin), offsetof(tn_plugin, shutdown)},
    {"device", sizeof(tn_device_api), offsetof(tn_device_api, fill)},
    {"kernel", sizeof(tn_kernel), offsetof(tn_kernel, workspace)},
};
const std::size_t kExtensionSizes[] = {sizeof(tn_ext), sizeof(tn_ext) + 8, sizeof(tn_ext) + 4096};

// The fault, or the faults of using it.
std::string outcome(const Struct& s, std::size_t size) {
  return in_child({{"TENON_PLUGIN_PATH", "/nonexistent"},
                   {"TENON_TEST_SKEW", s.name + (" " + std::to_string(size))}},
                  [] { return use_of(built_plugin("skew"), "relu"); });
}

}  // namespace

TEST(PluginSkew, SizesThatAreLargeEnoughWork) {
  for (const Struct& s : kStructs) {
    for (std::size_t size :
         {s.min_size, s.min_size + 8, s.size - 1, s.size, s.size + 8, s.size + 4096}) {
      EXPECT_EQ(outcome(s, size), "") << s.name << " of " << size << " bytes, today " << s.size;
    }
  }
}

TEST(PluginSkew, UnknownExtensionsAreSkipped) {
  for (std::size_t size : kExtensionSizes)
    EXPECT_EQ(outcome({"extension", size, size}, size), "") << size;
}

TEST(PluginSkew, OtherSizesAreRefused) {
  for (const Struct& s : kStructs) {
    for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, s.min_size - 1}) {
      EXPECT_NE(outcome(s, size).find(s.name == std::string("plugin") ? "its descriptor"
                                                                      : "is too short"),
                std::string::npos)
          << s.name << " of " << size << " bytes: " << outcome(s, size);
    }
    for (std::size_t size : {std::size_t{UINT32_MAX}, kMany, SIZE_MAX}) {
      EXPECT_NE(outcome(s, size).find("says that it has " + std::to_string(size) + " bytes"),
                std::string::npos)
          << s.name << " of " << size << " bytes: " << outcome(s, size);
    }
  }
}

// register_op is refused outside of init, whatever the schema; within init its text decides.
TEST(PluginSkew, SchemasAreReadWithinTheirSize) {
  static std::string said;
  const auto before = core::set_log_handler([](int, std::string_view text) { said = text; });
  const std::size_t min_size = offsetof(tn_schema, infer), page = 4096, room = 4 * page;
  char* memory = static_cast<char*>(
      mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(memory + room, page, PROT_NONE), 0);
  tn_schema schema{};
  schema.text = {"skew::x(Tensor self) -> Tensor", 30};
  for (std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, min_size - 1, min_size, sizeof schema - 1,
        sizeof schema, sizeof schema + 8, sizeof schema + page, kMany, SIZE_MAX}) {
    const std::size_t readable = std::max(sizeof size, std::min(size, room));
    char* at = memory + room - (readable + 7) / 8 * 8;
    std::memset(at, 0xab, readable);
    std::memcpy(at, &schema, std::min(readable, sizeof schema));
    std::memcpy(at, &size, sizeof size);
    const tn_status status = core::host_table().register_op(reinterpret_cast<const tn_schema*>(at));
    const bool sane = size >= min_size && size < kMany;
    EXPECT_NE(status, TN_OK) << size;
    EXPECT_EQ(said.find("says that it has " + std::to_string(size) + " bytes") == std::string::npos,
              sane)
        << size << ": " << said;
    if (!sane) {
      EXPECT_EQ(status, TN_ERROR_VALUE) << size;
    }
  }
  for (const char* at : {static_cast<char*>(nullptr), memory + 4}) {
    EXPECT_EQ(core::host_table().register_op(reinterpret_cast<const tn_schema*>(at)),
              TN_ERROR_VALUE);
    EXPECT_NE(said.find("the schema is null, or at an address"), std::string::npos) << said;
  }
  munmap(memory, room + page);
  core::set_log_handler(before);
}

// The table that core hands out says its own size, and never assumes more than what 1.0 has.
TEST(PluginSkew, CoreStatesTheSizesOfWhatItFills) {
  EXPECT_EQ(fault_of(built_plugin("works"), "relu"), "");
  std::string said = refusal(built_plugin("reads_sizes"));
  EXPECT_NE(said.find("the sizes are those of these headers"), std::string::npos) << said;
}
