// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The device: malloc's memory, which the host must not read directly. It is synchronous.
#include <cstring>

#include "tenon/sdk/device.h"
#include "tenon/sdk/plugin.h"

namespace {

using namespace tenon::sdk;

tn_status props(void*, int32_t, tn_device_props* out) {
  std::strcpy(out->name, "thirteen primitives");
  out->total_bytes = out->free_bytes = uint64_t{1} << 32;
  out->alignment = kHostAlignment;
  out->compute_units = 1;
  return TN_OK;
}

constexpr tn_device_api kApi = malloc_device(props);

}  // namespace

TN_PLUGIN(PluginInfo{}.name("prim").vendor("Tenon").device("prim").device_api(&kApi));
