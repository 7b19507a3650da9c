// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What print_c.h makes of a program: source text that holds for all sizes, and what a call passes
// to each kernel. The kernels run in order, each after the one before it has written its results.
#ifndef TENON_SDK_LOOP_PROGRAM_C_PROGRAM_H_
#define TENON_SDK_LOOP_PROGRAM_C_PROGRAM_H_

#include <memory>

#include "tenon/sdk/loop_program/call.h"

namespace tenon::sdk::loop_program {

// Where an array of a call lies: its first element and its strides, in elements from the pointer
// that the kernel gets.
struct Placement {
  int64_t offset = 0;
  Shape strides;
};

// The address of a node's read or of a store, in one kernel.
struct CAccess {
  int array = -1;
  std::vector<const Affine*> indices;  // by dimension; null where a node is the index
};

// An integer that a kernel gets.
struct CNumber {
  enum What { kItems, kExtent, kDivider, kOffset, kStep, kDimension, kStride, kSize, kParameter };
  What what = kItems;
  int source = -1;  // loop, access, array, size or parameter
  int part = -1;    // kStep: the loop. kDimension, kStride: the dimension.
  bool operator==(const CNumber& o) const {
    return what == o.what && source == o.source && part == o.part;
  }
};

struct CPointer {
  int array = -1;
  bool stored = false;
};

// The stores of a nest that name the same loops: one work item per point of those, and a loop in
// order over the others.
struct CKernel {
  std::string name;
  int nest = -1;              // of CProgram::program
  int cleared = -1;           // the array that it fills with zeros, needless where starts_covered()
  bool stores_empty = false;  // whether it stores where a loop has no points: a neutral element
  std::vector<int> items, inner;   // loops; the last is the fastest
  std::vector<CPointer> pointers;  // arguments in this order: the numbers, the reals if there are
  std::vector<CNumber> numbers;    // any, the pointers; then, if it reports, a tn_error_word* and
  std::vector<int> reals;          // the operator's index as int
  bool reports = false;
  std::vector<CAccess> accesses;
};

struct CProgram {
  Program given;
  // The same, then nests that fill arrays with zeros. Accesses point into it.
  std::shared_ptr<const Program> program;
  std::string source;
  std::vector<CKernel> kernels;
};

// The program's binding with extents of the nests that fill with zeros.
inline Binding bind_c(const CProgram& c, Binding binding) {
  for (size_t n = binding.extents.size(); n < c.program->nests.size(); ++n) {
    Shape extents;
    for (const Loop& it : c.program->nests[n].loops)
      extents.push_back(evaluate(it.extent, binding.sizes));
    binding.extents.push_back(std::move(extents));
  }
  return binding;
}

inline int64_t count_points(const std::vector<int>& loops, const Shape& extents) {
  int64_t n = 1;
  for (const int l : loops) n = extents[l] == 0 ? 0 : n;
  for (const int l : loops)
    if (n == 0 || __builtin_mul_overflow(n, extents[l], &n)) break;
  return n;
}

// Work items of a kernel; 0: it need not run. `binding` of bind_c().
inline int64_t count_items(const CProgram& c, const CKernel& kernel, const Binding& binding) {
  if (kernel.cleared >= 0 && starts_covered(c.given, binding, kernel.cleared)) return 0;
  const Shape& extents = binding.extents[kernel.nest];
  if (!kernel.stores_empty && count_points(kernel.inner, extents) == 0) return 0;
  return count_points(kernel.items, extents);
}

// Points that one item goes through in order: where they are many and the items few, a device with
// many processors is better off with the fallback.
inline int64_t count_inner(const CKernel& kernel, const Binding& binding) {
  return count_points(kernel.inner, binding.extents[kernel.nest]);
}

namespace detail {
// Unsigned, as nothing is proven of a nest that does not run.
inline uint64_t wrapped(const Affine& value, const Binding& binding) {
  uint64_t sum = static_cast<uint64_t>(value.constant);
  for (const auto& [size, by] : value.sizes)
    sum += static_cast<uint64_t>(by) * static_cast<uint64_t>(binding.sizes[size]);
  return sum;
}

inline int64_t offset_of(const CAccess& access, const Binding& binding, const Placement& at) {
  uint64_t sum = static_cast<uint64_t>(at.offset);
  for (size_t d = 0; d < access.indices.size(); ++d)
    if (access.indices[d])
      sum += wrapped(*access.indices[d], binding) * static_cast<uint64_t>(at.strides[d]);
  return static_cast<int64_t>(sum);
}

inline int64_t step_of(const CAccess& access, int loop, const Placement& at) {
  uint64_t sum = 0;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (!access.indices[d]) continue;
    for (const auto& [which, by] : access.indices[d]->loops)
      if (which == loop) sum += static_cast<uint64_t>(by) * static_cast<uint64_t>(at.strides[d]);
  }
  return static_cast<int64_t>(sum);
}
}  // namespace detail

// What tn_divide() of the printed text takes to divide an item by an extent: a factor below 2^32
// and a shift; 0 where items have more than 31 bits.
inline int64_t find_divider(int64_t extent, int64_t items) {
  constexpr int64_t kMax = int64_t{1} << 31;
  if (extent < 1 || extent >= kMax || items >= kMax) return 0;
  int64_t shift = 0;
  while (int64_t{1} << shift < extent) ++shift;
  const auto by = static_cast<uint64_t>(extent);
  const uint64_t factor = (((uint64_t{1} << shift) - by) << 32) / by + 1;
  return static_cast<int64_t>(factor) | shift << 32;
}

// The numbers of a call, in the kernel's order. `placements` by array; `items` of count_items().
inline std::vector<int64_t> find_numbers(const CKernel& kernel, const Binding& binding,
                                         const std::vector<Placement>& placements, int64_t items) {
  std::vector<int64_t> list;
  for (const CNumber& it : kernel.numbers) {
    switch (it.what) {
      case CNumber::kItems:
        list.push_back(items);
        break;
      case CNumber::kExtent:
        list.push_back(binding.extents[kernel.nest][it.source]);
        break;
      case CNumber::kDivider:
        list.push_back(find_divider(binding.extents[kernel.nest][it.source], items));
        break;
      case CNumber::kOffset: {
        const CAccess& access = kernel.accesses[it.source];
        list.push_back(detail::offset_of(access, binding, placements[access.array]));
        break;
      }
      case CNumber::kStep: {
        const CAccess& access = kernel.accesses[it.source];
        list.push_back(detail::step_of(access, it.part, placements[access.array]));
        break;
      }
      case CNumber::kDimension:
        list.push_back(binding.shapes[it.source][it.part]);
        break;
      case CNumber::kStride:
        list.push_back(placements[it.source].strides[it.part]);
        break;
      case CNumber::kSize:
        list.push_back(binding.sizes[it.source]);
        break;
      case CNumber::kParameter:
        list.push_back(binding.whole[it.source]);
        break;
    }
  }
  return list;
}

inline std::vector<double> find_reals(const CKernel& kernel, const Binding& binding) {
  std::vector<double> list;
  for (const int it : kernel.reals) list.push_back(binding.real[it]);
  return list;
}

// Of a row-major array, as temporaries are.
inline Placement row_major(const Shape& shape) {
  Placement at;
  at.strides.resize(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0; step *= shape[d]) at.strides[d] = step;
  return at;
}

}  // namespace tenon::sdk::loop_program

#endif
