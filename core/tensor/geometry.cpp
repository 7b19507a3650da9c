// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/geometry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tenon/runtime/error.h"

namespace tenon::core {

int64_t checked_numel(const char* op, int ndim, const int64_t* sizes) {
  TENON_CHECK(ndim <= kMaxDims, ValueError, op, ": a tensor has at most ", kMaxDims,
              " dimensions, got ", ndim);
  int64_t n = 1;
  bool overflow = false;
  for (int i = 0; i < ndim; ++i) {
    TENON_CHECK(sizes[i] >= 0, ValueError, op, ": size ", sizes[i], " of dimension ", i,
                " is negative");
    overflow |= __builtin_mul_overflow(n, sizes[i], &n);
  }
  if (TENON_LIKELY(!overflow && n <= kMaxNumel)) return n;
  for (int i = 0; i < ndim; ++i) {
    if (sizes[i] == 0) return 0;
  }
  throw ValueError(join(op, ": sizes ", IntArrayRef(sizes, static_cast<std::size_t>(ndim)),
                        " have more elements than memory can hold"));
}

uint64_t checked_extent(const char* op, uint32_t itemsize, int ndim, const int64_t* sizes,
                        const int64_t* strides) {
  uint64_t last = 0;
  bool overflow = false, empty = false;
  for (int i = 0; i < ndim; ++i) {
    TENON_CHECK(strides[i] >= 0, ValueError, op, ": stride ", strides[i], " of dimension ", i,
                " is negative");
    uint64_t reach = 0;
    empty |= sizes[i] == 0;
    if (sizes[i] == 0) continue;
    overflow |= __builtin_mul_overflow(static_cast<uint64_t>(sizes[i] - 1),
                                       static_cast<uint64_t>(strides[i]), &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  if (empty) return 0;
  overflow |= last >= static_cast<uint64_t>(kMaxNumel);
  TENON_CHECK(!overflow, ValueError, op, ": strides ",
              IntArrayRef(strides, static_cast<std::size_t>(ndim)),
              " reach further than memory can hold");
  return (last + 1) * itemsize;
}

int64_t extent(IntArrayRef sizes, IntArrayRef strides) noexcept {
  uint64_t last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += static_cast<uint64_t>(sizes[d] - 1) * static_cast<uint64_t>(strides[d]);
  }
  return static_cast<int64_t>(last + 1);
}

int64_t contiguous_strides(int ndim, const int64_t* sizes, int64_t* strides) noexcept {
  uint64_t next = 1, n = 1;  // unsigned: [0, 2^62, 2^62] has no elements, and its strides may wrap
  for (int i = ndim - 1; i >= 0; --i) {
    strides[i] = static_cast<int64_t>(next);
    n *= static_cast<uint64_t>(sizes[i]);
    next *= static_cast<uint64_t>(sizes[i] > 1 ? sizes[i] : 1);
  }
  return static_cast<int64_t>(n);
}

bool is_row_major(IntArrayRef sizes, IntArrayRef strides) noexcept {
  uint64_t expected = 1;
  bool row_major = true;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 0) return true;
    if (sizes[d] == 1) continue;
    row_major &= static_cast<uint64_t>(strides[d]) == expected;
    expected *= static_cast<uint64_t>(sizes[d]);
  }
  return row_major;
}

void broadcast_strides(IntArrayRef sizes, IntArrayRef strides, IntArrayRef to,
                       int64_t* out) noexcept {
  const std::size_t lead = to.size() - sizes.size();
  for (std::size_t d = 0; d < to.size(); ++d) {
    out[d] = d < lead || (sizes[d - lead] == 1 && to[d] != 1) ? 0 : strides[d - lead];
  }
}

bool overlaps_itself(IntArrayRef sizes, IntArrayRef strides) noexcept {
  uint64_t elements = 1, places = 1;
  bool repeats = false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    repeats |= sizes[d] > 1 && strides[d] == 0;
    elements *= static_cast<uint64_t>(sizes[d]);
    places += static_cast<uint64_t>(sizes[d] - 1) * static_cast<uint64_t>(strides[d]);
  }
  return elements > 1 && (repeats || elements > places);
}

bool may_overlap_itself(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return false;
    if (sizes[d] > 1) dims.emplace_back(strides[d], sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t last = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= last) return true;
    last += stride * (size - 1);
  }
  return false;
}

}  // namespace tenon::core
