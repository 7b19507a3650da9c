// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lists of passes.
#pragma once

#include <string_view>
#include <vector>

#include "tenon/jit/graph.h"

namespace tenon::jit {

struct Pass {
  const char* name;
  bool (*run)(Graph& g);
};

// What every frozen graph gets: constants, and what they decide. Repeated until nothing changes, at
// most eight times.
const std::vector<Pass>& frozen_passes();
// Into the weights: freeze's optimize_numerics.
const std::vector<Pass>& numeric_passes();
// Fewer and larger nodes: optimize_for_inference.
const std::vector<Pass>& inference_passes();

// In their order. With TENON_JIT_DUMP=FOLDER the graph is written there before the first and after
// each: NNNN.FUNCTION.PASS.txt.
bool run_passes(Graph& g, const std::vector<Pass>& passes, std::string_view function);
bool run_passes_repeatedly(Graph& g, const std::vector<Pass>& passes, std::string_view function);

}  // namespace tenon::jit
