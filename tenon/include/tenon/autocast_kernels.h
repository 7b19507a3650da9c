// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What functions of a program's own operators do under autocast (tenon/library.h).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tenon/autocast.h"

namespace tenon::autocast {

// The tensor in the dtype, if it is one of the device type, of floating point and not float64; what
// it was otherwise. Weights are cast once, as autocast itself casts them.
TENON_API Tensor cached_cast(ScalarType to, const Tensor& t, DeviceType device_type = kCUDA);

inline std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& t,
                                         DeviceType device_type = kCUDA) {
  return t ? std::optional<Tensor>(cached_cast(to, *t, device_type)) : std::nullopt;
}
inline std::vector<Tensor> cached_cast(ScalarType to, TensorList list,
                                       DeviceType device_type = kCUDA) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const Tensor& t : list) out.push_back(cached_cast(to, t, device_type));
  return out;
}
inline std::vector<Tensor> cached_cast(ScalarType to, const std::vector<Tensor>& list,
                                       DeviceType device_type = kCUDA) {
  return cached_cast(to, TensorList(list), device_type);
}
// Other arguments stay as they are.
template <class T>
T cached_cast(ScalarType, T argument, DeviceType = kCUDA) {
  return argument;
}

}  // namespace tenon::autocast
