// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One cell of the conformance table: an op, a sample, a dtype, a memory layout, a device.
#pragma once

#include <string>
#include <vector>

#include "../oracle/results.h"
#include "spec.h"

namespace tenon::check {

enum class Verdict { Passed, Failed, NotRun };

struct Outcome {
  Verdict verdict;
  std::string reason;
};

struct Cell {
  const core::Op& op;
  const Spec& spec;
  ScalarType dtype;
  Memory memory;
  Place place;
};

// The op addresses elements of the storage: what it gives depends on how its argument lies in memory.
bool addresses_storage(const core::Op& op);
inline constexpr const char* kAddressesStorage = "addresses the storage, which has another layout";

// Compares with the reference and checks what must hold besides: inputs unchanged, the same bits again and with two
// threads, nothing written beside an output.
Outcome run_cell(const Cell& cell, Place reference);
// Central differences in float64, first and second order.
Outcome run_gradients(const core::Op& op, const Spec& spec, Memory memory);

// The expected results: float64 for floating dtypes, else the dtype itself. On the reference device where it serves
// the op by its own kernel or by its decomposition, else on the host from row-major copies.
bool reference_serves(const core::Op& op, ScalarType dtype, Place reference);

std::vector<oracle::Result> call_row(const core::Op& op, const tn_value* in);

}  // namespace tenon::check
