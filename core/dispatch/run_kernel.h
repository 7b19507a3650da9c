// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dispatch/frame.h"
#include "core/registry/cells.h"

namespace tenon::core {

// The trampoline. True if the kernel did it, false if it declined; throws its error.
bool run_kernel(CallFrame& frame, KernelEntry& entry);

// Outputs and arguments as this kernel wants them, then its run. False: it declined, and wrote
// nothing.
bool try_kernel(CallFrame& frame, KernelEntry& entry);

// Whether it takes the call's dtypes and layouts; it may still decline.
bool kernel_fits(const CallFrame& frame, const KernelEntry& entry);

// The kernels that may serve a call on a device, best first: those of the device, then, for a
// layout, those of every device. Each fits the call.
class KernelList {
 public:
  KernelList(const CallFrame& frame, DeviceSlot slot);
  KernelList(const CallFrame& frame, DeviceSlot slot,
             const KernelEntry& last);  // those after `last`
  KernelEntry* next();                  // null: no more

 private:
  const CallFrame& f_;
  KernelEntry* next_;
  KernelEntry* rest_ = nullptr;  // of every device, when next_ is through
};

}  // namespace tenon::core
