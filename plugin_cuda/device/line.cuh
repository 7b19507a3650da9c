// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lines of a tensor along a dimension, and sorting them.
#pragma once

#include "plugin_cuda/device/order.cuh"
#include "tenon/sdk/loops.h"

namespace tenon::cuda {

// Rows of n elements, in the order of the other dimensions.
struct Line {
  char* p;
  Code code;
  int32_t ndim;
  int64_t size[sdk::kMaxDims], stride[sdk::kMaxDims];  // of the rows; bytes
  int64_t along;
  TN_DEVICE char* at(int64_t row, int64_t i) const {
    int64_t offset = i * along;
    for (int d = ndim - 1; d >= 0; --d) {
      offset += row % size[d] * stride[d];
      row /= size[d];
    }
    return p + offset;
  }
};

// Without dimension `dim`; if `dim` is -1, all dimensions are rows.
inline Line line_of(const sdk::Tensor& t, int dim) {
  Line l{};
  l.p = t.data<char>();
  l.code = code_of(t.dtype());
  const int64_t item = sdk::item_size(t.dtype());
  for (int d = 0; d < t.ndim(); ++d) {
    if (d == dim) {
      l.along = t.stride(d) * item;
      continue;
    }
    l.size[l.ndim] = t.size(d);
    l.stride[l.ndim++] = t.stride(d) * item;
  }
  return l;
}

// Sorts the positions of all elements of rows of n, each row by its keys and stable: values_out[row
// * n + i] - row * n is the position of the i-th element of a row. What keys_out holds then depends
// on the dtype. memory.pairs.n is not 0.
void sort_lines(const sdk::Call& call, const Line& in, int64_t n, const SortMemory& memory,
                bool descending);
// Sorts pairs that have their keys: {row, key} where keys have 32 bits, else the key alone. Their
// values are positions among all elements of rows of n.
void sort_keyed(const sdk::Call& call, Code code, int64_t n, int64_t rows,
                const SortMemory& memory);

// From `first` on, k elements of each row, in the order of `width` sorted pairs per row. `values`
// may be Line{}.
void gather_lines(const sdk::Call& call, const Line& in, const Line& values, const Line& indices,
                  const Pairs& pairs, int64_t n, int64_t width, int64_t first, int64_t k);

// The same by a sort of all elements; workspace: sort_workspace_bytes() of their number. `dim` is
// that of self; the results have dimension `along`; -1: they have none.
tn_status select_by_sort(const sdk::Call& call, const sdk::Tensor& values,
                         const sdk::Tensor& indices, const sdk::Tensor& self, int dim, int along,
                         int64_t first, int64_t k, bool descending);

TN_DEVICE void copy_element(char* to, const char* from, Code code) {
  const int64_t bytes = code_bytes(code);
  for (int64_t b = 0; b < bytes; ++b) to[b] = from[b];
}

}  // namespace tenon::cuda
