// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/abi/device.h"

namespace tenon::ref {
extern const tn_device_api kDeviceApi;
}
