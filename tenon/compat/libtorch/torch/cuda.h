// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/runtime/device.h"

namespace torch::cuda {

// Opens the plugin, if there is one.
inline std::size_t device_count() {
  ::tenon::core::DeviceSlot slot = ::tenon::core::device_slot(::tenon::kCUDA);
  if (slot < 0 || !::tenon::core::ensure_device(slot)) return 0;
  return static_cast<std::size_t>(::tenon::core::device_entry(slot).count);
}
inline bool is_available() { return device_count() > 0; }
inline void synchronize(int64_t index = -1) {
  const int ordinal = index < 0 ? 0 : index < INT8_MAX ? static_cast<int>(index) : INT8_MAX;
  ::tenon::core::synchronize({::tenon::core::usable_slot(::tenon::kCUDA), ordinal});
}

}  // namespace torch::cuda
