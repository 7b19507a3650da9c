// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// c10d is tenon::distributed.
#pragma once

#include <torch/csrc/distributed/c10d/exception.h>

#include "tenon/distributed/types.h"

namespace c10d {
using namespace ::tenon::distributed;
}  // namespace c10d
