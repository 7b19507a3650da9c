// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a call of a loop program needs beside its data, kept by text, shapes and strides, so that
// the next such call plans nothing. Its temporaries and copies are in the call's workspace.
#pragma once

#include <memory>

#include "plugin_llvm/bands.h"
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
    Rows rows;  // in a stage of bands
  };
  // Parts that run one after the other, or all of them over `step` rows after the other.
  struct Stage {
    struct Local {
      int array;
      int64_t row;  // bytes
    };
    std::size_t first = 0, count = 1;  // of the parts
    int64_t rows = 0, step = 0;        // 0: one part, without rows
    std::vector<Local> locals;         // temporaries in the slot of a thread
  };

  std::shared_ptr<const lp::Program> program;
  Fused fused;  // what runs
  lp::Binding binding;
  std::vector<lp::Placement> placements;  // by array
  std::vector<int64_t> temporaries;       // by array: where it is in the workspace; -1: not there
  std::vector<int> cleared;               // arrays that must begin as zeros
  std::vector<Part> parts;                // in the order of the program
  std::vector<Stage> stages;              // of all parts
  bool has_integers = false;              // among the parameters: it serves one call
  int64_t copies = 0;                     // where the workspace of each part's copies begins
  int64_t workspace = 0;                  // bytes
  int64_t slot = 0;                       // bytes of the panels or temporaries of a thread
};

// Null: left to other kernels. Programs with integer parameters are prepared at each call.
// Throws lp::Error for what does not fit the program.
std::shared_ptr<const Prepared> prepare(const Given& call, int64_t min_work);

// Bytes in multiples of a cache line.
inline int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace tenon::llvm_loops
