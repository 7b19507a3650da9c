// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The greatest or the least magnitude: what vector norms become as p grows without bounds.
#pragma once

#include "plugin_cpu/reduce/plan.h"

namespace tenon::cpu::reduce {

// Of floating elements; NaN wins.
void magnitude(const Plan& plan, sdk::DType dtype, bool greatest);

}  // namespace tenon::cpu::reduce
