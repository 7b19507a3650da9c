// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic of sizes and strides, which are counted in elements. Strides are not negative.
#pragma once

#include <cstdint>

#include "tenon/runtime/array_ref.h"
#include "tenon/runtime/export.h"

namespace tenon::core {

inline constexpr int kMaxDims = 64;
inline constexpr int64_t kMaxNumel = INT64_MAX / 32;  // no item has more than 31 bytes

// The number of elements, small enough that no dtype's byte count overflows; ValueError naming `op`
// otherwise, for a negative size and for more than kMaxDims dimensions.
TENON_API int64_t checked_numel(const char* op, int ndim, const int64_t* sizes);
// Bytes from the first element to after the last one; ValueError on overflow or a negative stride.
TENON_API uint64_t checked_extent(const char* op, uint32_t itemsize, int ndim, const int64_t* sizes,
                                  const int64_t* strides);
// Elements from the first to after the last one that the strides reach; 0 if there are none.
TENON_API int64_t extent(IntArrayRef sizes, IntArrayRef strides) noexcept;

// Fills row-major strides; returns the number of elements.
TENON_API int64_t contiguous_strides(int ndim, const int64_t* sizes, int64_t* strides) noexcept;
// Strides of dimensions of one element may be anything, and so may all where there is no element.
TENON_API bool is_row_major(IntArrayRef sizes, IntArrayRef strides) noexcept;
// Of a tensor that is expanded to `to`: 0 where its size is 1 and the other's is not, and for
// leading dimensions.
TENON_API void broadcast_strides(IntArrayRef sizes, IntArrayRef strides, IntArrayRef to,
                                 int64_t* out) noexcept;

// Whether two indices certainly name one element: more elements than places, or a stride of 0.
// Patterns with as many places as elements and a collision all the same need strides that no view
// operator makes, except as_strided; they are not found.
TENON_API bool overlaps_itself(IntArrayRef sizes, IntArrayRef strides) noexcept;
// Whether two indices may name one element. Exact for strides that nest; else it says yes.
TENON_API bool may_overlap_itself(IntArrayRef sizes, IntArrayRef strides);

}  // namespace tenon::core
