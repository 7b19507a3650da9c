// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Device type, layout and dtype in one, as libtorch's older programs speak of a tensor's type.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "tenon/compat/backend.h"
#include "tenon/types.h"

namespace tenon {

class Tensor;

// There is one for each combination, which lives as long as the process.
class TENON_API DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(const DeprecatedTypeProperties&) = delete;
  DeviceType device_type() const noexcept { return device_; }
  Layout layout() const noexcept { return layout_; }
  ScalarType scalarType() const noexcept { return dtype_; }
  ScalarType typeMeta() const noexcept { return dtype_; }
  Backend backend() const;  // Undefined for what has none
  bool is_cuda() const noexcept { return device_ == DeviceType::CUDA; }
  bool is_sparse() const noexcept { return layout_ == kSparse; }
  std::string toString() const;  // "tenon.cuda.FloatTensor"
  operator std::string() const { return toString(); }

  DeprecatedTypeProperties& toBackend(Backend b) const;
  DeprecatedTypeProperties& toScalarType(ScalarType dtype) const;
  DeprecatedTypeProperties& cpu() const;
  DeprecatedTypeProperties& cuda() const;
  TensorOptions options(DeviceIndex index = -1) const;
  // ValueError for a device of another type.
  TensorOptions options(std::optional<Device> device) const;
  operator TensorOptions() const { return options(); }
  // `src` as one of this type, on `device` if it is given.
  Tensor copy(const Tensor& src, bool non_blocking = false,
              std::optional<Device> device = {}) const;

  friend bool operator==(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) {
    return &a == &b;
  }
  friend bool operator!=(const DeprecatedTypeProperties& a, const DeprecatedTypeProperties& b) {
    return &a != &b;
  }
  friend bool operator==(const DeprecatedTypeProperties& a, std::string_view text) {
    return a.toString() == text;
  }
  friend std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t) {
    return out << t.toString();
  }

 private:
  DeprecatedTypeProperties(DeviceType device, Layout layout, ScalarType dtype)
      : device_(device), layout_(layout), dtype_(dtype) {}
  TENON_API friend DeprecatedTypeProperties& getDeprecatedTypeProperties(DeviceType, Layout,
                                                                         ScalarType);
  DeviceType device_;
  Layout layout_;
  ScalarType dtype_;
};

TENON_API DeprecatedTypeProperties& getDeprecatedTypeProperties(DeviceType device, Layout layout,
                                                                ScalarType dtype);
// ValueError for Backend::Undefined.
inline DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend b, ScalarType dtype) {
  return getDeprecatedTypeProperties(backendToDeviceType(b), layout_from_backend(b), dtype);
}

}  // namespace tenon
