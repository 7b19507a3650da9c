// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What passes ask of nodes: where they stand, what they write and show.
#pragma once

#include <cstddef>

#include "tenon/jit/graph.h"

namespace tenon::jit {

// In the block, or in a block of one of its nodes.
TENON_API bool is_in(const Node* n, const Block& around);
// In a block of the node.
TENON_API bool is_in(const Node* n, const Node& around);
// Among the later nodes of n's block, or in their blocks, or what gives the block's results.
TENON_API bool is_after(const Node* user, const Node& n);
// By the schema of its operator: it writes to that argument, a tensor.
TENON_API bool writes_tensor(const Node& n, std::size_t argument);
// By the schema: a result shows the memory of an argument.
TENON_API bool gives_view(const Node& n);

}  // namespace tenon::jit
