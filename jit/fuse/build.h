// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From a graph of pointwise operators, the kinds of its inputs and what a run gave, a loop program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/fuse/shape.h"
#include "tenon/jit/graph.h"

namespace tenon::jit::fuse {

struct Output {
  ScalarType dtype = kFloat;
  Broadcast shape;
};

struct Program {
  std::string text;
  std::vector<Output> outputs;
};

// `inputs` and `results`: what the graph was given and what each of its nodes but constants gave,
// in order. Nothing if some node has no loop program for these kinds.
std::optional<Program> build(const Graph& graph, const std::vector<Kind>& kinds,
                             const std::vector<IValue>& inputs, const std::vector<IValue>& results);

}  // namespace tenon::jit::fuse
