// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Extensions of the plugin that provides a device. Private to libtenon_core.
#pragma once

#include <cstdint>

#include "tenon/abi/plugin.h"
#include "tenon/runtime/device.h"

namespace tenon::core {

// The extension of this id; null if the plugin has none, or is not open.
const tn_ext* device_ext(DeviceSlot slot, uint32_t id) noexcept;
// The first of the plugin's list, which lives until null is set.
void set_device_extensions(DeviceSlot slot, const tn_ext* first) noexcept;

}  // namespace tenon::core
