// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of a program against those that a folder of cases has.
#pragma once

#include <string>
#include <vector>

#include "cases.h"
#include "tenon/jit.h"

namespace tenon::command {

struct GradientResult {
  std::string mode;  // "eval" or "train"
  int compared = 0;  // gradients
  double milliseconds = 0;
  Comparison comparison;
  std::string skipped;  // why it was not run; empty: it was
};

// Those of the sum of the means of the floating results of the first case, in each mode that the
// folder has gradients of. `load` gives a new module each time.
std::vector<GradientResult> compare_gradients(const CaseFolder& folder,
                                              const std::function<jit::Module()>& load,
                                              const Device& device);

}  // namespace tenon::command
