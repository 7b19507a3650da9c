// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Private to libtenon_core.
#pragma once

#include "tenon/runtime/device.h"

namespace tenon::core {

// Asks the plugin for count, flags. Throws BackendError when it fails. Returns the count, of which
// kMaxOrdinals serve.
TENON_API int attach_device(DeviceSlot slot, const tn_device_api* api);
TENON_API void detach_device(DeviceSlot slot) noexcept;
// detach_device, which says why not: ValueError, and nothing has changed, while memory that the
// device gave out is alive. Waits for the calls into the device that are under way.
TENON_API void release_device(DeviceSlot slot);

}  // namespace tenon::core
