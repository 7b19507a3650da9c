// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The reference: naive loops in long double over device memory that the host may not read. It is
// built from abi/ and sdk/ alone, which proves that those suffice.
#include "tenon/sdk/plugin.h"

#include "device.h"

TN_PLUGIN(tenon::sdk::PluginInfo{}.name("ref").vendor("Tenon").device("ref").device_api(
    &tenon::ref::kDeviceApi));
