// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Errors of stores and groups by libtorch's names.
#pragma once

#include <c10/util/Exception.h>

#include "tenon/distributed/types.h"

namespace c10 {
using DistError = ::tenon::distributed::DistributedError;
using DistBackendError = ::tenon::distributed::DistributedError;
using DistNetworkError = ::tenon::BackendError;  // a server that does not answer is no rank's fault
using DistStoreError = ::tenon::distributed::TimeoutError;
}  // namespace c10

namespace c10d {
using ::tenon::distributed::TimeoutError;
}  // namespace c10d
