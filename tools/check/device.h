// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Checks of a device by itself: memory, copies, streams and events, what is native, and training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "property.h"
#include "spec.h"

namespace tenon::check {

// Intercepts the functions of a device's table to count calls and make them fail. Once per process,
// before anything is called on the device from several threads.
void watch_device(core::DeviceSlot slot);
bool can_fail_allocations(core::DeviceSlot slot);  // whether that was done
uint64_t copies_of_device() noexcept;

// Every allocation of the device that is watched fails meanwhile.
class FailingAllocations {
 public:
  FailingAllocations();
  ~FailingAllocations();
  int count() const noexcept;
};

struct DeviceCheck {
  const char* name;  // "device.memory"
  int level;         // that needs it
  // Empty: passed. Begins with a question mark: not run, and why. Else what is wrong; it may throw
  // as well.
  std::string (*run)(DeviceId place);
};
const std::vector<DeviceCheck>& device_checks();

std::string check_gradients(DeviceId place);
std::string check_sparse_gradients(DeviceId place);
std::string check_mlp(DeviceId place);
std::string check_conv_net(DeviceId place);

}  // namespace tenon::check
