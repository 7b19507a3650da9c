// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The reference device in host memory, whose kernels run synchronously in the emulator.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "tenon/sdk/plugin.h"
#include "tests/ref/device.h"

namespace {

using namespace tenon;

constexpr sdk::PluginInfo kInfo = sdk::PluginInfo{}
                                      .name("cuda_emulated")
                                      .vendor("Tenon")
                                      .device("cuda")
                                      .device_api(&ref::kDeviceApi);

bool is_primitive(const tn_kernel& k) {
  const std::string_view op(k.op.ptr, k.op.len);
  constexpr std::string_view kOthers[] = {"fill.Scalar", "copy", "where.self",
                                          "gather",      "bmm",  "arange.start_step"};
  return op.substr(0, 5) == "prim_" ||
         std::find(std::begin(kOthers), std::end(kOthers), op) != std::end(kOthers);
}

tn_plugin only_primitives(tn_plugin all) {
  static std::vector<const tn_kernel*> kernels;
  for (const tn_kernel* const* k = all.kernels; k != all.kernels_end; ++k) {
    if (is_primitive(**k)) kernels.push_back(*k);
  }
  all.kernels = kernels.data();
  all.kernels_end = kernels.data() + kernels.size();
  return all;
}

}  // namespace

// As TN_PLUGIN defines it; with TENON_EMULATOR_PRIMITIVES set, with the primitives' kernels only.
extern "C" __attribute__((visibility("default"))) const tn_plugin* tenon_plugin_v1() {
  static constexpr tn_plugin all =
      sdk::detail::make_plugin<nullptr>(kInfo, __start_tn_kernels, __stop_tn_kernels);
  static const tn_plugin few = only_primitives(all);
  return std::getenv("TENON_EMULATOR_PRIMITIVES") ? &few : &all;
}
