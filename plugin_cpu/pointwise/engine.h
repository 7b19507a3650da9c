// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs the loops of a pointwise operator over tensors of any strides and dtype. Operators differ in
// a table of loops over contiguous runs; broadcasting, staging of irregular strides, 16-bit floats
// and threads are handled here.
#pragma once

#include <initializer_list>

#include "tenon/sdk/kernel.h"
#include "tenon/sdk/pointwise.h"

namespace tenon::cpu::pw {

using namespace sdk::pointwise;
using sdk::Scalar;
using sdk::Tensor;

// n elements at out and in[k]; params has the operator's scalars, as an array of the compute type.
using LoopFn = void (*)(char* out, const char* const* in, const char* params, int64_t n);

// The types that loops exist for; 16-bit floats are computed as float.
enum Kind {
  kKindBool,
  kKindU8,
  kKindI8,
  kKindI16,
  kKindI32,
  kKindI64,
  kKindF32,
  kKindF64,
  kKindC64,
  kKindC128,
  kKinds
};

struct Loops {
  LoopFn full[kKinds];   // every operand is a run
  LoopFn value[kKinds];  // the last operand is one value; null if there is no such loop
  uint8_t inputs;
  bool mask;      // operand 0 is bool, whatever the compute type is
  bool out_bool;  // the result is bool
};

// `complex` is the table for complex operands; null if the operator has none.
tn_status run(const sdk::Call& call, const Loops& loops, Tensor out,
              std::initializer_list<Operand> in, std::initializer_list<Param> params,
              Guard guard = Guard::None, const Loops* complex = nullptr);

}  // namespace tenon::cpu::pw
