// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

namespace c10 {

// A tensor of no dimensions and of the widest dtype of the number's kind.
inline ::tenon::Tensor scalar_to_tensor(const ::tenon::Scalar& s,
                                        ::tenon::Device device = ::tenon::kCPU) {
  return ::tenon::scalar_tensor(s, ::tenon::TensorOptions(device).dtype(s.type()));
}

}  // namespace c10
namespace tenon {
using ::c10::scalar_to_tensor;
}
