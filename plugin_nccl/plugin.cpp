// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "plugin_nccl/group.h"
#include "plugin_nccl/types.h"
#include "tenon/sdk/error.h"
#include "tenon/sdk/plugin.h"

namespace tenon::nccl_engine {
namespace {

struct Engine : sdk::CollectiveEngine<Group> {
  static bool supports(int32_t operation, int32_t reduction, tn_dtype dtype,
                       std::string_view device) {
    if (device != "cuda" || operation < 0 || operation > TN_COLLECTIVE_RECV) return false;
    return !sdk::is_reduction(operation) || reduction_of(dtype, reduction).has_value();
  }
};

constexpr tn_ext_collective kCollective = sdk::collective_functions<Engine>();

tn_status init(const tn_host&, tn_str* why) {
  const std::string& text = open_library();
  *why = {text.data(), text.size()};
  return text.empty() ? TN_OK : TN_ERROR_BACKEND;
}

// Kept until the process ends.
tn_str describe() {
  static const auto& text = *new std::string(sdk::join("NCCL ", version_text()));
  return {text.data(), text.size()};
}

}  // namespace
}  // namespace tenon::nccl_engine

TN_PLUGIN_INIT(tenon::nccl_engine::init, tenon::sdk::PluginInfo{}
                                             .name("nccl")
                                             .device("none")
                                             .host_memory()
                                             .ext(&tenon::nccl_engine::kCollective.head)
                                             .describe(&tenon::nccl_engine::describe));
