// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The reference: naive loops in long double over memory of its own that the host may not read. Built from abi/ and
// sdk/ alone, it is also the proof that those suffice.
#include "tenon/sdk/plugin.h"

#include "device.h"

TN_PLUGIN(tenon::sdk::PluginInfo{}.name("ref").vendor("Tenon").device("ref").device_api(&tenon::ref::kDeviceApi));
