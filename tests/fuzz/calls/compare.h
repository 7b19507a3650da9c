// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Comparisons of results. Each returns a text of the first difference, or an empty string.
#pragma once

#include <string>

#include "call.h"

namespace tenon::fuzz {

// Bit for bit; NaN equals NaN.
std::string other_bits(const Results& ours, const Results& expected);
std::string other_bits(core::TensorImpl& ours, core::TensorImpl& expected);

struct Nearness {
  double units = 4;         // of the last place of the result's dtype
  double of_operands = 0;   // units of the largest finite operand, for sums that cancel
  double min_unit = 0;      // the last place of the shortest dtype on the way
  bool other_ends = false;  // one is infinite or NaN where the other overflowed in another order
};
// The further error that each result may have: its change when the operands change by their last
// place.
using Slack = std::vector<std::vector<double>>;

// `in` are the arguments, by which an index among equal elements is judged. Truth may be of a wider
// dtype.
std::string too_far(const core::Op& op, const tn_value* in, const Results& ours,
                    const Results& truth, const Nearness& near, const Slack& slack = {});
// Adds the differences between results for moved operands and results for the operands themselves.
void widen(Slack& slack, const Results& moved, const Results& truth);

}  // namespace tenon::fuzz
