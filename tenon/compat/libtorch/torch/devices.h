// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What torch::cuda, torch::xpu and torch::mps ask of a device type, whose plugin may be absent.
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/dispatch.h"
#include "tenon/core/op.h"
#include "tenon/runtime/device.h"

namespace tenon::compat {

// Opens the plugin, if there is one; 0 without.
inline std::size_t device_count(DeviceType type) {
  return static_cast<std::size_t>(core::device_count(type));
}

// Waits for one device; a negative index is the first. BackendError without a plugin.
inline void synchronize(DeviceType type, int64_t index) {
  const int ordinal = index < 0 ? 0 : index < INT8_MAX ? static_cast<int>(index) : INT8_MAX;
  core::synchronize({core::usable_slot(type), ordinal});
}

// Whether the plugin that serves the GPU was built with cuDNN, from which alone it has fused
// recurrent layers.
inline bool has_cudnn() {
  if (device_count(DeviceType::CUDA) == 0) return false;
  const core::Op* op = core::find_op("_fused_rnn");
  return op && core::has_kernel(*op, core::device_slot(DeviceType::CUDA), kFloat);
}

}  // namespace tenon::compat
