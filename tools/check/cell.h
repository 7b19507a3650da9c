// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One cell of the conformance table: an op, a sample, a dtype, a memory layout, a device.
#pragma once

#include <string>
#include <vector>

#include "../oracle/results.h"
#include "property.h"
#include "spec.h"

namespace tenon::check {

struct Cell {
  const core::Op& op;
  const Spec& spec;
  ScalarType dtype;
  Memory memory;
  DeviceId place;
};
using Results = std::vector<oracle::Result>;

// Values, strides, dtypes, inputs, repetition and threads, and the other forms where `forms`.
Findings run_cell(const Cell& cell, DeviceId reference, bool forms);
// Repetition and threads only.
Findings run_large(const Cell& cell);
// Central differences in float64, first and second order.
Findings run_gradients(const core::Op& op, const Spec& spec, Memory memory);
// Two slices under vmap against two calls.
Findings run_batched(const core::Op& op, const Spec& spec);
// The operator's first sample with an argument that it must refuse: undefined, or on `elsewhere`.
Findings run_bad_arguments(const Cell& cell, DeviceId elsewhere);
// The same with one tensor of another shape: refused, or the reference's result.
Findings run_other_shapes(const Cell& cell, DeviceId reference);
// What holds of a call as a whole: properties from Schema on.
Findings run_whole(const Cell& cell, DeviceId elsewhere);
// The properties from Sentinels on, of a device under test.
Findings run_tested_device(const Cell& cell);
// A dtype that the operator does not claim.
Findings run_unclaimed(const Cell& cell);
// A call that tests/oracle lists as refused.
Findings run_refused(const core::Op& op, const Spec& spec);

// Every form with an output or input of its own: `expected` is the function's result.
void run_forms(const Cell& cell, const Results& expected, DeviceId elsewhere, Findings& out);

// Draws the same random numbers each time.
Results call_operator(const core::Op& op, const tn_value* in);
// What the operator left in those of its arguments that it writes is appended to the results.
Results collect(const core::Op& op, const Built& inputs, Results results);
Results call_and_collect(const core::Op& op, Built& inputs);
tn_value device_value(DeviceId place);
// A device and a dtype that do not exist.
tn_value unknown_device();
tn_value unknown_dtype();
// The first difference in number, dtypes, sizes or strides; empty if there is none.
std::string other_geometry(const Results& a, const Results& b);
bool mutates(const core::Op& op);
// Its result depends on the memory layout of its argument.
bool addresses_storage(const core::Op& op);
// The name of an argument that `before` does not describe any more and that the operator does not
// write.
std::string changed(const core::Op& op, const Built& inputs,
                    const std::vector<std::vector<char>>& before);
// Elements as bytes, row-major.
std::vector<std::vector<char>> bits(const Results& results);
bool same_values(const Values& a, const Values& b);

}  // namespace tenon::check
