// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What kernels of a device report into. Private to libtenon_core.
#pragma once

#include "tenon/runtime/device.h"

namespace tenon::core {

// What the kernels of a stream report into; device_error_word is that of the current one.
TENON_API tn_error_word* stream_error_word(DeviceId device, tn_stream* stream);
// Frees the device's error words through `api`. The device must be idle.
void drop_error_words(DeviceSlot slot, const tn_device_api* api) noexcept;
// The operator of a report, by its index; set by the operators' table, which is built upon this.
extern const char* (*g_operator_name)(int index);

}  // namespace tenon::core
