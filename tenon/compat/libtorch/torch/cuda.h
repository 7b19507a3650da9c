// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <algorithm>
#include <cstdint>

#include "tenon/core/device.h"

namespace torch::cuda {

// Opens the plugin, if there is one.
inline std::size_t device_count() {
  ::tenon::core::DeviceSlot slot = ::tenon::core::device_slot(::tenon::kCUDA);
  if (slot < 0 || !::tenon::core::ensure_device(slot)) return 0;
  return static_cast<std::size_t>(::tenon::core::device_entry(slot).count);
}
inline bool is_available() { return device_count() > 0; }
inline void synchronize(int64_t index = -1) {
  ::tenon::core::synchronize({::tenon::core::usable_slot(::tenon::kCUDA),
                              static_cast<int>(std::clamp<int64_t>(index, 0, INT8_MAX))});
}

}  // namespace torch::cuda
