// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Keys (row-major linear indices) of elements in host memory, and their order.
#pragma once

#include "plugin_sparse/coo/coo.h"

namespace tenon::coo::loops {

// Keys of n columns of indices, as words: key << shift | position.
struct Numbers {
  uint64_t* words;
  int64_t n;
  int shift;           // -1: the positions do not fit, and the words are the keys
  uint64_t differing;  // bits of the keys that are not the same in all
  bool ascending, strict;
  uint64_t operator[](int64_t i) const { return shift < 0 ? words[i] : words[i] >> shift; }
};
// Of [sizes.size(), n] contiguous indices. IndexError where one lies outside of sizes. Sizes have a
// product below 2^63. Without `positions` the shift is 0 and the words are the keys.
Numbers compute_keys(Ops& op, const Tensor& indices, Ints sizes, bool positions);

// The first of ascending keys without positions that is not below `wanted`, from `at` on.
int64_t seek(const Numbers& have, int64_t at, uint64_t wanted);

// Sorted elements: key and position, in one word or in two.
struct Packed {
  using Element = uint64_t;
  int shift;
  uint64_t key(Element e) const { return e >> shift; }
  int64_t position(Element e) const {
    return static_cast<int64_t>(e & ((uint64_t{1} << shift) - 1));
  }
};
struct Pair {
  uint64_t key, position;
  bool operator<(const Pair& o) const { return key != o.key ? key < o.key : position < o.position; }
};
struct Wide {
  using Element = Pair;
  uint64_t key(const Element& e) const { return e.key; }
  int64_t position(const Element& e) const { return static_cast<int64_t>(e.position); }
};

// Elements ordered by key, equal keys by position. The words are overwritten.
const uint64_t* sort_packed(Ops& op, const Numbers& numbers);
const Pair* sort_wide(Ops& op, const Numbers& numbers);

// Elements grouped by the highest bits in which their keys differ, in their order within a group.
// Overwrites the words.
struct Groups {
  const uint64_t* elements;
  std::vector<int64_t> ends;
  uint64_t width;  // of a group, in keys; a power of two
};
Groups partition(Ops& op, const Numbers& numbers);

// f(reader of an element, elements) for keys with positions, sorted.
template <class F>
auto in_order(Ops& op, const Numbers& numbers, F&& f) {
  if (numbers.shift < 0) return f(Wide{}, sort_wide(op, numbers));
  return f(Packed{numbers.shift}, numbers.ascending ? numbers.words : sort_packed(op, numbers));
}

// Memory of one call.
template <class T>
T* scratch(Ops& op, int64_t n) {
  const int64_t words = (n * static_cast<int64_t>(sizeof(T)) + 7) / 8;
  return op.empty(Ints(&words, 1), kInt64, Device{TN_CPU, 0}).template data<T>();
}
// Components of n elements, with the dtype and dense sizes of `like`.
inline Coo parts(Ops& op, const Coo& like, int64_t n) {
  const int64_t shape[] = {like.indices.size(0), n};
  return {op.empty(Ints(shape, 2), kInt64, like.values.device()),
          op.empty(span(value_sizes(n, like.values.sizes(), 1)), like.values.dtype(),
                   like.values.device())};
}
inline Tensor contiguous(Ops& op, const Tensor& t) {
  return t.contiguous() ? t : op("contiguous", {value(t)});
}

// Each element once, in order, whatever its flag says; components are contiguous. IndexError as
// from `compute_keys`.
struct Elements {
  Coo parts;
  Numbers numbers;
};
Elements elements(Ops& op, const Coo& t, Ints sizes);

// Grain of parallel_for over runs of `inner` elements.
inline int64_t grain(int64_t inner) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner));
}

}  // namespace tenon::coo::loops
