// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device that computes nothing: the cost of a call is overhead. Its memory is a handle that must
// not be offset or dereferenced; it counts the requests.
#include "tenon/sdk/plugin.h"

#include <cstdio>

#include "counts.h"
#include "device.h"

namespace {

tn_str describe() {
  static char text[160];
  const tenon::null_device::Counts& c = tenon::null_device::counts();
  const int n = std::snprintf(
      text, sizeof text, "%llu kernel calls, %llu allocations, %llu copies, %llu faults",
      static_cast<unsigned long long>(c.kernels), static_cast<unsigned long long>(c.allocations),
      static_cast<unsigned long long>(c.copies), static_cast<unsigned long long>(c.faults));
  return tn_str{text, static_cast<size_t>(n)};
}

}  // namespace

TN_PLUGIN(tenon::sdk::PluginInfo{}
              .name("null")
              .vendor("Tenon")
              .device("null")
              .device_api(&tenon::null_device::kDeviceApi)
              .describe(&describe));
