// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What is compiled: some stores of one nest of a program, over loops in an order, with what is
// known of strides. Sizes and strides themselves are arguments of the kernel, so that one
// compilation serves all sizes but for `tail` and `unrolled`; whether a stride is 0, 1 or another
// is not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tenon/sdk/loop_program/program.h"

namespace tenon::llvm_loops {

namespace lp = sdk::loop_program;

// A loop as it runs: one of the nest's, or several neighbors of them joined (original: -1).
struct Loop {
  bool named = true;  // by the indices of the stores; else reduced
  int original = -1;
};

// kUnit: 1 along the vector loop. Of the last reduced loop only: 1 is kOne, and kWidth is as many
// elements as there are vectors at once, a row of a panel.
enum StepClass : uint8_t { kNoStep = 0, kUnit = 1, kAny = 2, kOne = 3, kWidth = 4 };

// A read of a node, or a store.
struct Access {
  int node = -1;
  int store = -1;
  bool is_late = false;          // of the assignments after a reduction
  std::vector<uint8_t> classes;  // by loop: of its step
};

// Stores of a nest over the same named loops, all assignments or all reductions.
struct Group {
  int nest = 0;
  std::vector<int> stores;
  // Of a reduction: assignments of its results, computed where those are finished (fuse.h).
  std::vector<int> late;
  std::vector<std::pair<int, int>> results;  // a read, and the store whose value at the point it is
  std::vector<int> unwritten;                // stores whose arrays nothing else reads
};

struct Spec : Group {
  const lp::Program* program = nullptr;
  std::vector<Loop> loops;  // named ones first; outermost first
  std::vector<Access> accesses;
  int vector_loop = 0;  // a named one, or the last reduced one
  int vectors = 1;      // along a named vector loop, at once
  bool whole = true;    // there are so many; else there is the tail alone
  int tail = 1;         // vectors of what is left of that loop, the last one partial; 0: nothing is
  int tile_loop[2] = {-1, -1};
  int tile[2] = {1, 1};
  bool has_rest[2] = {true, true};  // points are left where whole tiles end
  int flush_level = 0;   // reduced loops outside of what float32 accumulates; 0: it accumulates all
  bool blocked = false;  // and the last loop is cut into blocks of kBlock
  int unrolled = 0;      // the extent of the last reduced loop, if it is not a loop in the code

  const lp::Nest& body() const { return program->nests[static_cast<std::size_t>(nest)]; }
  bool is_reduction() const {
    return body().stores[static_cast<std::size_t>(stores[0])].update != lp::Update::kAssign;
  }
  bool is_written(int store) const {
    return std::find(unwritten.begin(), unwritten.end(), store) == unwritten.end();
  }
  // Elements of the vector loop that run at once.
  int64_t width(int lanes) const { return int64_t{lanes} * (whole ? vectors : tail); }
  bool is_across() const { return loops[static_cast<std::size_t>(vector_loop)].named; }
};

inline constexpr int64_t kBlock = 1024;  // terms that are added in float32

// The numbers of a call, in this order: extents of the loops, the chunk of the vector loop, for
// each access its offset and its steps (in elements, by loop), for each index of a read that is a
// value the dimension's size and stride, all sizes, all parameters.
struct Layout {
  explicit Layout(const Spec& s)
      : loops(static_cast<int>(s.loops.size())), accesses(static_cast<int>(s.accesses.size())) {
    int next = loops + 1 + accesses * (1 + loops);
    for (const Access& it : s.accesses) {
      dims.push_back(next);
      if (it.node < 0) continue;
      for (const lp::Index& index : s.body().nodes[static_cast<std::size_t>(it.node)].indices)
        if (index.bound != lp::Bound::kProven) next += 2;
    }
    sizes = next;
    parameters = sizes + static_cast<int>(s.program->sizes.size());
    count = parameters + static_cast<int>(s.program->parameters.size());
  }
  int chunk() const { return loops; }
  int offset(int access) const { return loops + 1 + access * (1 + loops); }
  int step(int access, int loop) const { return offset(access) + 1 + loop; }

  int loops, accesses;
  std::vector<int> dims;  // by access
  int sizes, parameters, count;
};

// The first error in the data of a call. `node` is of the nest.
struct Report {
  int32_t code;
  int32_t node;
  int32_t dim;
  int32_t reserved;
  int64_t index;
  int64_t limit;
};

// Items from `first` to `last`: digits are the named loops outside, blocks of chunk elements of the
// vector loop if that is named, and blocks of the tiles; the last is the fastest. No extent is 0.
using Kernel = void (*)(const int64_t* numbers, const double* reals, void* const* arrays,
                        Report* report, int64_t first, int64_t last);
inline constexpr const char* kKernelName = "tn_kernel";

// The loops of the digits, and how many elements of them a digit stands for; 0: the chunk.
struct Digit {
  int loop;
  int block;
};
inline std::vector<Digit> digits(const Spec& s) {
  std::vector<Digit> list;
  for (int l = 0; l < static_cast<int>(s.loops.size()); ++l)
    if (s.loops[static_cast<std::size_t>(l)].named && l != s.vector_loop && l != s.tile_loop[0] &&
        l != s.tile_loop[1])
      list.push_back({l, 1});
  if (s.is_across()) list.push_back({s.vector_loop, 0});
  for (int t = 0; t < 2; ++t)
    if (s.tile_loop[t] >= 0) list.push_back({s.tile_loop[t], s.tile[t]});
  return list;
}

}  // namespace tenon::llvm_loops
