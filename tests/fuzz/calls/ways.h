// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The ways to check one call. Each returns what is wrong, or an empty string.
#pragma once

#include <optional>
#include <string>

#include "call.h"
#include "tenon/runtime/error.h"

namespace tenon::fuzz {

// What a call on contiguous copies gave: results, or a refusal.
struct Answer {
  Results results;
  std::string refusal;
  tn_status code = TN_OK;
  bool refused() const { return code != TN_OK; }
};
Answer answer(const core::Op& op, Call::Arguments& in);

std::string in_irregular_memory(const Call& call, const Answer& expected, Random& random);
std::string call_into_out(const Call& call, const Answer& expected, Random& random);
std::string call_in_place(const Call& call, const Answer& expected, Random& random);
// In float64 on the device "ref", where that has the operator; `compared` tells whether it has.
std::string compare_with_reference(const Call& call, const Answer& ours, bool* compared);
// If the module that baseline.h describes is loaded. Loosely if the reference agreed: then a
// difference in the last place is libtorch's.
std::string compare_with_baseline(const Call& call, const Answer& ours, bool loosely);
// The call in float64 at a place, with operands moved by so many units of their own dtype; in the
// place's memory.
Answer call_widened(const Call& call, core::DeviceId place, double units, unsigned signs);
bool has_baseline();

}  // namespace tenon::fuzz
