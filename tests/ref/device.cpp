// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A synchronous device whose memory comes from malloc. TN_DEVICE_HOST_READABLE is off on purpose:
// the host must read its memory through copy, as on a real accelerator.
#include "device.h"

#include <cstring>

#include "tenon/sdk/device.h"

namespace tenon::ref {
namespace {

tn_status props(void*, int32_t, tn_device_props* out) {
  std::strncpy(out->name, "reference", sizeof out->name - 1);
  out->total_bytes = uint64_t{1} << 32;
  out->free_bytes = out->total_bytes;
  out->alignment = sdk::kHostAlignment;
  out->flags = 0;
  out->compute_units = 1;
  return TN_OK;
}

}  // namespace

extern const tn_device_api kDeviceApi = sdk::malloc_device(props).fill(sdk::fill_host);

}  // namespace tenon::ref
