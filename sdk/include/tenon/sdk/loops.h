// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Strided loops over several operands of one shape: broadcast dimensions have a stride of zero,
// dimensions are sorted by the memory order of operand 0, and adjacent ones that are contiguous in
// every operand are merged.
#pragma once

#include "tenon/sdk/view.h"

namespace tenon::sdk {

inline constexpr int kMaxDims = 64;
inline constexpr int kMaxOperands = 6;

class StridedLoop {
 public:
  // Strides are in bytes; dimension 0 is the innermost.
  int ndim = 0;
  int operands = 0;
  int64_t numel = 1;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
  char* base[kMaxOperands];

  explicit StridedLoop(Ints shape) : ndim(static_cast<int>(shape.size())) {
    for (int d = 0; d < ndim; ++d) {
      sizes[d] = shape[ndim - 1 - d];
      numel *= sizes[d];
    }
  }

  // Broadcasts to the shape: trailing dimensions are matched, a size of 1 repeats.
  void add(const Tensor& t) {
    const int64_t item = item_size(t.dtype());
    base[operands] = t.data<char>();
    for (int d = 0; d < ndim; ++d) {
      const int k = t.ndim() - 1 - d;
      strides[d][operands] = k < 0 || (t.size(k) == 1 && sizes[d] != 1) ? 0 : t.stride(k) * item;
    }
    ++operands;
  }

  // One value for all elements.
  void add_value(const void* value) {
    base[operands] = static_cast<char*>(const_cast<void*>(value));
    for (int d = 0; d < ndim; ++d) strides[d][operands] = 0;
    ++operands;
  }

  // After the last add(). `key` is the operand whose memory order the loop follows.
  void finish(int key = 0) {
    sort(key);
    int last = -1;
    for (int d = 0; d < ndim; ++d) {
      if (sizes[d] == 1) continue;
      if (last >= 0 && mergeable(last, d)) {
        sizes[last] *= sizes[d];
        continue;
      }
      move(d, ++last);
    }
    ndim = last + 1;
    if (ndim == 0) {
      ndim = 1;
      sizes[0] = numel;
      for (int k = 0; k < operands; ++k) strides[0][k] = 0;
    }
  }

  // f(pointers, strides of dimension 0, count) for each run of elements [begin, end).
  template <class F>
  void run(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end) return;
    int64_t index[kMaxDims];
    char* p[kMaxOperands];
    for (int k = 0; k < operands; ++k) p[k] = base[k];
    int64_t rest = begin;
    for (int d = 0; d < ndim; ++d) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (int k = 0; k < operands; ++k) p[k] += index[d] * strides[d][k];
    }
    for (int64_t left = end - begin;;) {
      const int64_t rest_of_row = sizes[0] - index[0], n = rest_of_row < left ? rest_of_row : left;
      f(static_cast<char* const*>(p), static_cast<const int64_t*>(strides[0]), n);
      left -= n;
      if (left == 0) return;
      for (int k = 0; k < operands; ++k) p[k] -= index[0] * strides[0][k];
      index[0] = 0;
      step(index, p);
    }
  }

 private:
  bool mergeable(int inner, int outer) const {
    for (int k = 0; k < operands; ++k) {
      if (strides[outer][k] != strides[inner][k] * sizes[inner]) return false;
    }
    return true;
  }
  void move(int from, int to) {
    if (from == to) return;
    sizes[to] = sizes[from];
    for (int k = 0; k < operands; ++k) strides[to][k] = strides[from][k];
  }
  void step(int64_t* index, char** p) const {
    for (int d = 1; d < ndim; ++d) {
      for (int k = 0; k < operands; ++k) p[k] += strides[d][k];
      if (++index[d] < sizes[d]) return;
      for (int k = 0; k < operands; ++k) p[k] -= sizes[d] * strides[d][k];
      index[d] = 0;
    }
  }
  void sort(int key) {
    for (int d = 1; d < ndim; ++d) {
      for (int e = d; e > 0 && magnitude(e, key) < magnitude(e - 1, key); --e) swap(e, e - 1);
    }
  }
  // Dimensions of one element go last, where they prevent no merge.
  uint64_t magnitude(int d, int key) const {
    if (sizes[d] == 1) return ~uint64_t{0};
    const int64_t s = strides[d][key];
    return static_cast<uint64_t>(s < 0 ? -s : s);
  }
  void swap(int a, int b) {
    std::swap(sizes[a], sizes[b]);
    for (int k = 0; k < operands; ++k) std::swap(strides[a][k], strides[b][k]);
  }
};

}  // namespace tenon::sdk
