// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <optional>

#include "tenon/stream.h"
#include "tenon/tensor.h"

namespace c10 {

// Guards nothing until it is given a device.
class OptionalDeviceGuard {
 public:
  OptionalDeviceGuard() = default;
  explicit OptionalDeviceGuard(std::optional<::tenon::Device> d) {
    if (d) reset_device(*d);
  }
  void reset_device(::tenon::Device d) {
    if (guard_) ::tenon::set_device(d);
    if (!guard_) guard_.emplace(d);
    current_ = d;
  }
  std::optional<::tenon::Device> original_device() const {
    return guard_ ? std::optional(guard_->original_device()) : std::nullopt;
  }
  std::optional<::tenon::Device> current_device() const { return current_; }

 private:
  std::optional<::tenon::DeviceGuard> guard_;
  std::optional<::tenon::Device> current_;
};

}  // namespace c10
namespace at {
using ::c10::OptionalDeviceGuard;

// Where a tensor lives, and the first of a list; none of an undefined tensor and an empty list.
inline std::optional<::tenon::Device> device_of(const ::tenon::Tensor& t) {
  return t.defined() ? std::optional(t.device()) : std::nullopt;
}
inline std::optional<::tenon::Device> device_of(const std::optional<::tenon::Tensor>& t) {
  return t ? device_of(*t) : std::nullopt;
}
inline std::optional<::tenon::Device> device_of(::tenon::TensorList list) {
  return list.empty() ? std::nullopt : device_of(list.front());
}

}  // namespace at
