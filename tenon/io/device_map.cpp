// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/device_map.h"

#include "tenon/runtime/error.h"

namespace tenon {

DeviceMap::DeviceMap(Device device) : function_([device](const std::string&) { return device; }) {}

DeviceMap::DeviceMap(std::map<std::string, std::string> names) {
  function_ = [names = std::move(names)](const std::string& location) {
    const auto it = names.find(location);
    return it == names.end() ? DeviceMap().place(location) : core::resolve(Device(it->second));
  };
}

Device DeviceMap::place(const std::string& location) const {
  if (function_) return core::resolve(function_(location));
  try {
    return core::resolve(Device(location));
  } catch (const Error&) {
    return kCPU;
  }
}

}  // namespace tenon
