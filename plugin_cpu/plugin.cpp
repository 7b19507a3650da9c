// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The CPU plugin: kernels for core's host device.
#include "tenon/sdk/plugin.h"

#include "dnnl_config.h"
#include "dnnl_version.h"
#include "plugin_cpu/isa.h"

namespace {

using namespace tenon::sdk;

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
constexpr std::string_view kOneDnn =
    ", oneDNN " TEXT(DNNL_VERSION_MAJOR) "." TEXT(DNNL_VERSION_MINOR) "." TEXT(DNNL_VERSION_PATCH);

tn_str describe() {
  static const std::string line = std::string(tenon::cpu::isa_name()).append(kOneDnn);
  return tn_str{line.data(), line.size()};
}

tn_status init(const tn_host&, tn_str*) {
  if (const auto name = setting("CPU_ISA")) {
    if (!tenon::cpu::choose_isa(*name)) {
      log(TN_LOG_WARNING, join("TENON_CPU_ISA=", *name, " is not served here (base, avx2, avx3 up to what the machine "
                               "has); using ", tenon::cpu::isa_name()));
    }
  }
  return TN_OK;
}

}  // namespace

TN_PLUGIN_INIT(init, tenon::sdk::PluginInfo{}.name("cpu").vendor("Tenon").host_memory().describe(describe));
