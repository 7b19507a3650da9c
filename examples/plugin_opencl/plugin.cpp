// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/sdk/plugin.h"

#include "runtime.h"

namespace tenon::opencl {
namespace {

constexpr std::string_view kNone =
    "no OpenCL device: install a vendor's driver, or PoCL, which computes on the CPU "
    "(pocl-opencl-icd)";

tn_status init(const tn_host&, tn_str* why) {
  try {
    if (find_devices()) return TN_OK;
    *why = {kNone.data(), kNone.size()};
    return TN_NO_DEVICE;
  } catch (const sdk::Error& e) {
    static auto& text = *new std::string(e.what());
    *why = {text.data(), text.size()};
    return e.code();
  }
}

tn_str describe() {
  static char text[256];
  std::size_t bytes = 0;
  clGetDeviceInfo(gpu(0).id, CL_DEVICE_VERSION, sizeof text, text, &bytes);
  return {text, bytes > 0 ? bytes - 1 : 0};
}

}  // namespace
}  // namespace tenon::opencl

TN_PLUGIN_INIT(tenon::opencl::init, tenon::sdk::PluginInfo{}
                                        .name("opencl")
                                        .vendor("Tenon")
                                        .device("opencl")
                                        .device_api(&tenon::opencl::kDeviceApi)
                                        .describe(tenon::opencl::describe));
