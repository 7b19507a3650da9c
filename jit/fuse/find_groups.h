// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which pointwise operators of a graph become one node.
#pragma once

#include <memory>

#include "tenon/jit/graph.h"

namespace tenon::jit::fuse {

inline constexpr const char* kGroup = "prim::FusionGroup";

// The graph with groups of two operators and more as nodes prim::FusionGroup, whose attribute
// Subgraph is a graph of the group's inputs and outputs; the graph itself where there are none.
std::shared_ptr<const Graph> find_groups(const std::shared_ptr<const Graph>& graph);

}  // namespace tenon::jit::fuse
