// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/abi/device.h"

namespace tenon::null_device {
extern const tn_device_api kDeviceApi;
}
