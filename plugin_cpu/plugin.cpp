// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The CPU plugin: kernels for core's host device.
#include "tenon/sdk/plugin.h"

#include "plugin_cpu/bf16.h"
#include "plugin_cpu/isa.h"
#include "plugin_cpu/onednn.h"

namespace {

using namespace tenon::sdk;

tn_str describe() {
  static const std::string line =
      join(tenon::cpu::isa_name(), ", bfloat16 by ", tenon::cpu::bf16_name(), ", ", tenon::cpu::onednn::description());
  return tn_str{line.data(), line.size()};
}

tn_status init(const tn_host&, tn_str*) {
  if (const auto name = setting("CPU_ISA")) {
    if (!tenon::cpu::choose_isa(*name)) {
      log(TN_LOG_WARNING, join("TENON_CPU_ISA=", *name,
                               " is not served here (base, avx2, avx3 up to what the machine "
                               "has); using ",
                               tenon::cpu::isa_name()));
    }
  }
  if (const auto name = setting("CPU_BF16")) {
    if (!tenon::cpu::choose_bf16(*name)) {
      log(TN_LOG_WARNING, join("TENON_CPU_BF16=", *name,
                               " is not served here (amx and onednn where the machine has them, amx_emulated, float); "
                               "using ",
                               tenon::cpu::bf16_name()));
    }
  }
  return TN_OK;
}

}  // namespace

TN_PLUGIN_INIT(init, tenon::sdk::PluginInfo{}.name("cpu").vendor("Tenon").host_memory().describe(describe));
