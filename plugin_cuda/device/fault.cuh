// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Reports invalid data from a kernel: the first fault of a stream stays in the error word that core
// reads when it next synchronizes. The kernel continues with a valid value.
#pragma once

#include "plugin_cuda/device/device.cuh"
#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

struct Faults {
  tn_error_word* word = nullptr;
  int32_t op = -1;

  Faults() = default;
  explicit Faults(const sdk::Call& call) : word(call.device_error()), op(call.abi()->op) {}

  TN_DEVICE void report(int32_t code, int64_t index, int64_t limit) const {
    if (word == nullptr || atomicCAS(&word->code, 0, code) != 0) return;
    word->op = op;
    word->index = index;
    word->limit = limit;
  }
  // The index, or 0 if it is out of bounds.
  TN_DEVICE int64_t checked(int64_t index, int64_t size) const {
    if (index >= 0 && index < size) return index;
    report(TN_ERROR_INDEX, index, size);
    return 0;
  }
  // The same; negative indices count from the end.
  TN_DEVICE int64_t wrapped(int64_t index, int64_t size) const {
    if (index >= -size && index < size) return index < 0 ? index + size : index;
    report(TN_ERROR_INDEX, index, size);
    return 0;
  }
};

}  // namespace tenon::cuda
