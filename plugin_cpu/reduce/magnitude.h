// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The largest or the smallest magnitude: the limit of vector norms as p goes to +-infinity.
#pragma once

#include "plugin_cpu/reduce/plan.h"

namespace tenon::cpu::reduce {

// Of floating elements; NaN propagates.
void magnitude(const Plan& plan, sdk::DType dtype, bool greatest);

}  // namespace tenon::cpu::reduce
