// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The expected results of a cell, and the comparison with them.
#pragma once

#include <optional>
#include <string>

#include "cell.h"

namespace tenon::check {

struct Truth {
  Spec spec;  // what to call the operator with: the first set of values with a significant result
  Spec wide;  // the same rounded to the cell's dtype, then float64 where that is floating
  Results results;  // on the host
  std::string refusal;
  tn_status refusal_code = TN_OK;  // of an Error that the reference raised
  bool dull = false;               // mostly zeros or NaN
};

// Whether two calls with one seed give the same: elements of `empty` are uninitialized.
bool has_bits(const core::Op& op);
// Whether the values of the operator can be predicted.
bool has_values(const core::Op& op);
// The reference computes: its device where that serves the op by a kernel of its own or by the
// operator's decomposition, else the host. From row-major arguments, unless the operator addresses
// elements of the storage.
Truth find_truth(const Cell& cell, DeviceId reference);
// The code of the Error that the reference raises for arguments in the cell's own memory layout.
tn_status refusal_in_layout(const Cell& cell, const Truth& truth, DeviceId reference);
// The first difference, or an empty string.
std::string compare(const Cell& cell, const tn_value* in, const Results& ours, const Truth& truth,
                    DeviceId reference);

// The same for the values of two kernels.
std::string close_values(const Values& ours, const Values& truth);

// Another set of values: 1 between 0 and 1, 2 above 1, 3 few different ones, 4 infinities and NaN,
// 5 mostly zeros.
inline constexpr int kValueSets = 6;
Spec with_values(const Spec& spec, int set);

}  // namespace tenon::check
