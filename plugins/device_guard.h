// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A device table for core that never lets an exception out: what a function of the plugin throws,
// against rule 7 of abi/base.h, becomes a failure that names the function.
#pragma once

#include "tenon/abi/device.h"

namespace tenon::plugins {

struct GuardedDevice {
  tn_device_api theirs;  // complete to core's size
  tn_device_api table;   // for core; its context is this object
};

// Fills `table` from `theirs`: a wrapper for each function that is not null.
void guard_device(GuardedDevice& d);

}  // namespace tenon::plugins
