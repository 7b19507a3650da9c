// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements of a sparse tensor by their linear index, row-major over the sparse dimensions.
// Construction has checked that it fits an int64. Indices are checked where they are used, as
// _sparse_coo_tensor_unsafe does not check them.
#pragma once

#include <algorithm>

#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/order.cuh"
#include "plugin_sparse/coo/coo.h"
#include "tenon/sdk/loops.h"

namespace tenon::cuda {

// Positions of sorted elements have 32 bits.
inline constexpr int64_t kMaxSorted = (int64_t{1} << 31) - 1;

// Indices [dims, n], and the sizes of their dimensions.
struct Places {
  const int64_t* at;
  int64_t n;
  int32_t dims;
  int64_t size[sdk::kMaxDims];
  Faults faults;

  Places(const sdk::Call& call, const int64_t* at, int64_t n, const sdk::Ints& sizes)
      : at(at), n(n), dims(static_cast<int32_t>(sizes.size())), size{}, faults(call) {
    std::copy(sizes.begin(), sizes.end(), size);
  }
  Places(const sdk::Call& call, const sdk::Tensor& indices, const sdk::Ints& sizes)
      : Places(call, indices.data<int64_t>(), indices.size(1),
               sdk::Ints(sizes.data(), indices.size(0))) {}

  TN_DEVICE uint64_t linear_index(int64_t i) const {
    uint64_t linear = 0;
    for (int d = 0; d < dims; ++d) {
      const int64_t index = faults.checked(at[d * n + i], size[d]);
      linear = linear * static_cast<uint64_t>(size[d]) + static_cast<uint64_t>(index);
    }
    return linear;
  }
  // The indices of a linear index, as column i of [dims, columns].
  TN_DEVICE void write(uint64_t linear, int64_t* to, int64_t i, int64_t columns) const {
    for (int d = dims - 1; d > 0; --d) {
      const uint64_t s = static_cast<uint64_t>(size[d]), rest = linear / s;
      to[d * columns + i] = static_cast<int64_t>(linear - rest * s);
      linear = rest;
    }
    if (dims > 0) to[i] = static_cast<int64_t>(linear);
  }
  // Bits of the largest linear index.
  int bits() const {
    int64_t places = 1;
    for (int d = 0; d < dims; ++d) places *= std::max<int64_t>(size[d], 1);
    return std::max(bits_for(places), 1);
  }
};

// How many of the ascending linear indices are below this one.
TN_DEVICE int64_t count_below(const uint64_t* indices, int64_t n, uint64_t linear) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (indices[middle] < linear)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Elements sorted by linear index; equal ones keep their order.
struct Sorted {
  const uint64_t* indices;
  const uint32_t* positions;  // null: as given
  int64_t n;

  TN_DEVICE int64_t position(int64_t i) const { return positions == nullptr ? i : positions[i]; }
};

inline uint64_t sorting_bytes(int64_t n) { return (sort_workspace_bytes(n) + 7) / 8 * 8; }

// In the first sorting_bytes(n) of the workspace; `trailing` bytes follow. keys and values of the
// result are free.
Pairs sort_places(const sdk::Call& call, const Places& p, uint64_t trailing);
inline Sorted sorted(const Pairs& p) { return {p.keys_out, p.values_out, p.n}; }

// Per linear index and each of `width` columns: out = scale * the sum of its elements, or out +=
// it.
struct Sums {
  Dense values, out;
  int64_t width;
  const uint32_t*
      rows;  // of out, by the first position of each linear index; null: the linear index
  bool accumulate;

  template <class C>
  TN_DEVICE void put(int64_t row, int64_t column, C sum, C scale) const {
    const int64_t i = row * width + column;
    sum = static_cast<C>(sum * scale);
    out.put<C>(i, accumulate ? static_cast<C>(out.get<C>(i) + sum) : sum);
  }
};

// In an order that depends on the numbers of equal indices alone.
void sum_duplicates(const sdk::Call& call, const Sorted& elements, const Sums& sums,
                    const sdk::Scalar& scale);
// The same for distinct linear indices.
void scatter_distinct(const sdk::Call& call, const Places& places, const Sums& sums,
                      const sdk::Scalar& scale);

}  // namespace tenon::cuda
