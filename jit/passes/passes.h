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
TENON_API bool eliminate_dead_code(Graph& g);
// Of nodes that compute the same in one block, or in one around it, the first remains.
bool eliminate_common_subexpressions(Graph& g);
// Runs operators without effects on constants; takes the branch of a constant condition, and
// removes loops that never run. Results of more than 64 KiB, and those that may be written or
// returned, are left to the program.
TENON_API bool propagate_constants(Graph& g);
// Arithmetic with neutral numbers, conversions to the type that is there, transposes that cancel,
// elements of containers just made, comparisons with None that the types decide.
TENON_API bool simplify(Graph& g);
// Puts the nodes of called functions and methods where they are called. Recursive calls remain, and
// those past 200,000 nodes. `keep_operators`: functions that stand for operators, as those of
// packed sequences, become these.
void inline_calls(Graph& g, bool keep_operators = false);
// Repeats the bodies of loops with a constant trip count of at most 8, and no break, where all are
// at most 2,048 nodes; a loop of one turn becomes its body.
TENON_API bool unroll_loops(Graph& g);
// Tuples that branches give and loops carry become their elements.
TENON_API bool lower_tuples(Graph& g);
// Objects that nothing but reads and writes of their attributes uses become these.
TENON_API bool lower_objects(Graph& g);
// What is forked is computed at once, where it is only waited for.
TENON_API bool lower_forks(Graph& g);
// Operators with out= become their functional forms and copies into the outputs.
TENON_API bool lower_outs(Graph& g);
// In-place operators, and writes to views, become pure operators where the tensor is made in the
// block and no other name of it is used after the write. Those that may change the dtype or shape,
// and writes to what comes from outside, stay.
TENON_API bool functionalize(Graph& g);

// Of programs that are only run, with constant weights (freeze). Results differ by rounding.

// As propagate_constants; results may be as large as what they are made of. Weights of 8-bit
// integers stay integers, for fuse_quantized.
bool propagate_frozen_constants(Graph& g);
// These too become numbers.
bool propagate_dequantized(Graph& g);
// Ranks and sizes that the operators before decide become constants.
bool decide_shapes(Graph& g);
// Dropout outside of training gives its argument.
TENON_API bool remove_dropout(Graph& g);
// Checks of what a program was exported for, assertions, modes of gradients and of autocast that is
// off, operators of vmap's loops, of buffers that are written at the end and of numbers by data:
// what a program of another format has of its own, or does without.
TENON_API bool remove_checks(Graph& g);
// Batch normalization in evaluation, and arithmetic with constants, become part of the weight and
// bias of the convolution or linear layer before them.
bool fold_scales(Graph& g);
// gelu, silu, layer normalization and attention that are written out become the operators.
bool recognize_activations(Graph& g);
bool recognize_norms(Graph& g);
bool recognize_attention(Graph& g);
// Convolutions and linear layers between steps of 8 bits become layers of integers.
TENON_API bool fuse_quantized(Graph& g);
// Convolutions in float64 that give int32 become convolutions of 8-bit integers.
TENON_API bool fuse_integers(Graph& g);
// Functions of bytes become tables; sums and products of two tensors of bytes one operator.
TENON_API bool fuse_quantized_pointwise(Graph& g);
// Linear layers of one input become one, and parts of its result.
bool merge_linears(Graph& g);
// A convolution or a linear layer with constant weight, the addition of a tensor after it, and an
// activation become one node: aten::_conv_epilogue, aten::_linear_epilogue. A convolution in
// float32 does so by itself, too: that kernel packs its weight at once and filters 3x3 windows.
bool fuse_epilogues(Graph& g);

}  // namespace tenon::jit
