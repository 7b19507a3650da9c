// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a call of a loop program needs beside its data, kept by text, shapes and strides, so that
// the next such call plans nothing. Its temporaries and copies are in the call's workspace.
#pragma once

#include <memory>

#include "plugin_llvm/plan.h"
#include "tenon/sdk/kernel.h"

namespace tenon::llvm_loops {

struct Given {
  sdk::TensorList outputs, inputs;
  sdk::Str text;
  sdk::Ints numbers;
  sdk::Floats reals;
};

struct Prepared {
  struct Part {
    Plan plan;
    Kernel kernel = nullptr;
  };

  std::shared_ptr<const lp::Program> program;
  lp::Binding binding;
  std::vector<lp::Placement> placements;  // by array
  std::vector<int64_t> temporaries;       // by array: where it is in the workspace; -1: a tensor
  std::vector<int> cleared;               // arrays that must begin as zeros
  std::vector<Part> parts;                // in the order of the program
  bool has_integers = false;              // among the parameters: it serves one call
  int64_t copies = 0;                     // where the workspace of each part's copies begins
  int64_t workspace = 0;                  // bytes
};

// Null: left to other kernels. Programs with integer parameters are prepared at each call.
// Throws lp::Error for what does not fit the program.
std::shared_ptr<const Prepared> prepare(const Given& call, int64_t min_work);

int64_t numel(const lp::Shape& shape);

// Bytes in multiples of a cache line.
inline int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace tenon::llvm_loops
