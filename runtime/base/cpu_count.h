// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How many CPUs this process may keep busy.
#pragma once

#include <string>

#include "tenon/runtime/export.h"

namespace tenon::core {

// The smallest quota of CPU time among the control groups that hold this process (cpu.max of
// version 2, cpu.cfs_quota_us of version 1), in CPUs; 0 if there is none. `root` is prepended to
// every path that is read.
TENON_API double cpu_quota(const std::string& root);

// CPUs of the affinity mask, or the quota rounded up where that is less; at least 1.
TENON_API int usable_cpus();

}  // namespace tenon::core
