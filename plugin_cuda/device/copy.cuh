// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The functions of copy.h, and what kernels need beside them.
#pragma once

#include "plugin_cuda/device/copy.h"
#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

inline uint64_t bits_of(sdk::DType dtype, const sdk::Scalar& value) {
  uint64_t bits = 0;
  sdk::dispatch_all(dtype, [&](auto tag) {
    const tn_type(tag) v = value.to<tn_type(tag)>();
    std::memcpy(&bits, &v, sizeof v);
  });
  return bits;
}
// For kernels that overwrite some elements: out = self unless they share memory.
inline void copy_unless_same(const sdk::Call& call, const sdk::Tensor& out,
                             const sdk::Tensor& self) {
  if (out.data<char>() != self.data<char>()) copy_elements(call, out, self);
}

}  // namespace tenon::cuda
