// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Headers of files are JSON.
#pragma once

#include "runtime/base/json.h"

namespace tenon::serialize::detail {
using core::Json;
}  // namespace tenon::serialize::detail
