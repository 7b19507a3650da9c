// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// On which devices the tensors of a file are made.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tenon/function_ref.h"
#include "tenon/runtime/device.h"

namespace tenon {

// By default a tensor goes where it was saved, or to the host where there is no such device. A
// device: all of them there. A map: from names as the file has them ("cuda:1") to names; what it
// lacks goes where it was. A function: of the name in the file.
class TENON_API DeviceMap {
 public:
  DeviceMap() = default;
  DeviceMap(Device device);
  DeviceMap(std::optional<Device> device) {
    if (device) *this = DeviceMap(*device);
  }
  DeviceMap(std::nullopt_t) {}
  DeviceMap(DeviceType device) : DeviceMap(Device(device)) {}
  DeviceMap(const char* device) : DeviceMap(Device(device)) {}
  DeviceMap(const std::string& device) : DeviceMap(Device(device)) {}
  DeviceMap(std::map<std::string, std::string> names);
  template <class F,
            class = std::enable_if_t<std::is_invocable_r_v<Device, F&, const std::string&>>>
  DeviceMap(F function) : function_(std::move(function)) {}
  // ValueError for a name of no device, also for one that was asked for and is not here.
  Device place(const std::string& location) const;

 private:
  SharedFunction<Device(const std::string& location)> function_;
};

}  // namespace tenon
