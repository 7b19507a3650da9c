// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lines of a tensor along a dimension, and their sort.
#pragma once

#include "plugin_cuda/device/order.cuh"
#include "tenon/sdk/loops.h"

namespace tenon::cuda {

// Rows of n elements, in the order of their dimensions with the sorted one taken out.
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

// Without dimension `dim`; all dimensions are rows where it is none.
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

// Sorts the positions of all elements of rows of n, each row by its keys and stable: values_out[row * n + i] - row * n
// is where the i-th of a row stands in it. What keys_out holds then depends on the dtype. memory.pairs.n is not 0.
void sort_lines(const sdk::Call& call, const Line& in, int64_t n, const SortMemory& memory, bool descending);

}  // namespace tenon::cuda
