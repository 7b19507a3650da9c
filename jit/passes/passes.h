// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Passes over graphs. Each keeps what the program computes, in-place writes and views included:
// where a value may be written, or seen outside under two names, it is left alone. Those with a
// result say whether the graph was changed.
#pragma once

#include "tenon/jit/graph.h"

namespace tenon::jit {

// Removes nodes whose results nobody uses and that nobody notices: no effects, no writes to memory
// that is used. Outputs of prim::If and values that prim::Loop carries go as well.
bool eliminate_dead_code(Graph& g);
// Of nodes that compute the same in one block, or in one around it, the first remains.
bool eliminate_common_subexpressions(Graph& g);
// Runs operators without effects on constants; takes the branch of a constant condition, and
// removes loops that never run. Results of more than 64 KiB, and those that may be written or
// returned, are left to the program.
bool propagate_constants(Graph& g);
// Arithmetic with neutral numbers, conversions to the type that is there, transposes that cancel,
// elements of containers just made, comparisons with None that the types decide.
bool simplify(Graph& g);
// Puts the nodes of called functions and methods where they are called. Recursive calls remain, and
// those past 200,000 nodes.
void inline_calls(Graph& g);
// Repeats the bodies of loops with a constant trip count of at most 8, and no break.
bool unroll_loops(Graph& g);

}  // namespace tenon::jit
