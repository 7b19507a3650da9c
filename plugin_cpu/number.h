// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/sdk/number.h"

namespace tenon::cpu {
using sdk::checked;
using sdk::limited;
}  // namespace tenon::cpu
