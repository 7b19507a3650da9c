// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Accepted differences, in one table with a reason each.
#pragma once

#include <string>

#include "call.h"
#include "compare.h"

namespace tenon::fuzz {

enum Way : unsigned {
  Strides = 1,
  Out = 2,
  InPlace = 4,
  Reference = 8,
  Baseline = 16,
  BaselineRefuses = 32,
  BaselineAccepts = 64
};

// Whether the values of an operator's operands are sizes or counts, of which a wild one asks for
// all memory.
bool has_sizes_as_elements(const core::Op& op);
// Whether this way does not suit the operator.
bool is_left_out(const core::Op& op, Way way);
// Whether a difference of this call is known on this way.
bool is_known(const Call& call, Way way, const std::string& difference);
// How near the results of this call must be.
Nearness nearness(const Call& call, Way way);

}  // namespace tenon::fuzz
