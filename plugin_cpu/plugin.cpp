// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The CPU plugin: kernels for core's host device.
#include "tenon/sdk/plugin.h"

#include <charconv>

#include "isa/isa.h"
#include "plugin_cpu/conv/int8.h"
#include "plugin_cpu/memory/packed.h"
#include "plugin_cpu/onednn/bf16.h"
#include "plugin_cpu/onednn/onednn.h"

namespace {

using namespace tenon::sdk;

tn_str describe() {
  static const std::string line =
      join(tenon::cpu::isa_name(), ", bfloat16 by ", tenon::cpu::bf16_name(), ", ",
           tenon::cpu::onednn::description(),
           tenon::cpu::int8_by_onednn() ? ", 8-bit integers by oneDNN" : "");
  return tn_str{line.data(), line.size()};
}

// Passes the value of TENON_<name>, if it is set, to `choose`; a warning says what is used if it is
// rejected.
void apply_setting(const char* name, bool (*choose)(std::string_view), const char* choices,
                   std::string_view (*used)()) {
  const auto value = setting(name);
  if (!value || choose(*value)) return;
  log(TN_LOG_WARNING,
      join("TENON_", name, "=", *value, " is not available (", choices, "); using ", used()));
}

// Megabytes.
bool choose_packed(std::string_view text) {
  int64_t mb = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), mb);
  if (fault != std::errc() || end != text.data() + text.size() || mb < 0 || mb > int64_t{1} << 40)
    return false;
  tenon::cpu::packed::set_limit(mb << 20);
  return true;
}

tn_status init(const tn_host&, tn_str*) {
  using namespace tenon::cpu;
  apply_setting("CPU_ISA", choose_isa, "base, avx2, avx3 up to what the machine has",
                [] { return isa_name(); });
  apply_setting("CPU_BF16", choose_bf16,
                "amx, avx512_bf16 and onednn where the machine has them, amx_emulated, float",
                bf16_name);
  apply_setting("CPU_PACKED_MB", choose_packed, "an integer from 0 to 2^40",
                [] { return std::string_view("128"); });
  return TN_OK;
}

}  // namespace

TN_PLUGIN_INIT(
    init, tenon::sdk::PluginInfo{}.name("cpu").vendor("Tenon").host_memory().describe(describe));
