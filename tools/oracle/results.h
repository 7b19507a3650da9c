// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What an operator call returned, flattened, and its comparison with what a case expects.
#pragma once

#include <string>
#include <vector>

#include "arguments.h"
#include "compare.h"

namespace tenon::oracle {

struct Result {
  core::Impl tensor;     // null for a plain value or none
  tn_value plain{};      // tag NONE beside a tensor
  double imaginary = 0;  // of a complex number, whose real part is plain.u.f64
};

// The elements of lists become results of their own.
std::vector<Result> flatten(const core::OwnedValue* values, int n);

struct Judgment {
  std::string difference;     // empty: as expected
  bool other_choice = false;  // an index differs where it may; gradients then differ too
};

// Against the outputs of the case.
Judgment judge(const core::Op& op, const CaseFile& file, const json& c, const Arguments& args,
               const std::vector<Result>& results);

// What the case says that written arguments hold after the call.
std::string judge_written(const CaseFile& file, const json& c, const Arguments& args);

Tolerance tolerance(const json& c);
Tolerance tolerance_of(const json& tol);  // of "tol" or "grad_tol"

}  // namespace tenon::oracle
