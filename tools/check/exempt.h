// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Properties that operators are without on purpose.
#pragma once

#include "property.h"
#include "tenon/core/op.h"

namespace tenon::check {

// What failed of them counts as not run, with the reason.
Findings without_exempt(const core::Op& op, const Findings& found);

}  // namespace tenon::check
