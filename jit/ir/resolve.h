// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which operators the nodes of a graph name.
#pragma once

#include "tenon/jit/graph.h"

namespace tenon::jit {

// Gives each node without an operator the first overload that takes its inputs, all arguments
// given. Nodes of another kind, and those that no overload takes, stay without.
void resolve_operators(Graph& g);

}  // namespace tenon::jit
