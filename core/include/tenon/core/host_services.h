// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a plugin may call.
#pragma once

#include "tenon/abi/host.h"
#include "tenon/core/export.h"

namespace tenon::core {

// The table that init receives.
TENON_API const tn_host& host_table();

}  // namespace tenon::core
