// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a plugin may call.
#pragma once

#include "tenon/abi/host.h"
#include "tenon/runtime/export.h"

namespace tenon::core {

// The table that init receives.
TENON_API const tn_host& host_table();
// The service of that name: adds an op, or restores a withdrawn one with the same schema; returns
// its index. ValueError if the schema cannot be read, the name is taken, or no OpRegistration lives
// on this thread.
TENON_API int register_op(const tn_schema& schema);

}  // namespace tenon::core
