// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rows of a product whose left matrix is sparse: weighted sums of rows of the right one. Some lanes
// of a warp compute neighboring columns, and several such groups share the elements of a row; a
// long row has a block. The order of a sum follows from the sizes and the length of the row.
#pragma once

#include "plugin_cuda/device/block.cuh"
#include "plugin_sparse_cuda/device/places.cuh"

namespace tenon::cuda {

inline constexpr int64_t kLongRow = 1024;  // elements that a warp sums
inline constexpr int kRowBlock = 256, kRowWarps = kRowBlock / kWarp;

// out[m, n] = alpha * (elements @ right) + beta * self
template <class C>
struct Product {
  Sorted rows;             // of the elements
  const int64_t* columns;  // of each element
  Dense values, right, self, out;
  int64_t self_row, self_column;  // strides of self, which may be absent
  C alpha, beta;
  int64_t m, n, deep;     // of out; rows of right
  const int64_t* starts;  // of the rows among the elements; m + 1
  int across, groups;     // powers of 2, together at most a warp
  Faults faults;

  // The first column of this lane in a tile.
  template <int V>
  TN_DEVICE int64_t column(int64_t tile) const {
    return (tile * across + lane() % across) * V;
  }
  template <int V>
  TN_DEVICE int64_t tiles() const {
    return (n + across * V - 1) / (across * V);
  }
};

// V columns at once of matrices of elements T; with V = 1 their dtype is read at run time.
template <class T, class C, int V>
struct Columns {
  static constexpr int n = V;
  C v[V];

  TN_DEVICE void clear() {
    for (int k = 0; k < V; ++k) v[k] = C(0);
  }
  TN_DEVICE void add_product(const Product<C>& p, int64_t element, int64_t column) {
    const int64_t i = p.rows.position(element),
                  at = p.faults.checked(p.columns[i], p.deep) * p.n + column;
    if constexpr (V == 1) {
      v[0] += p.values.template get<C>(i) * p.right.template get<C>(at);
    } else {
      const C factor = static_cast<C>(reinterpret_cast<const T*>(p.values.p)[i]);
      const Pack<T, V> pack =
          *reinterpret_cast<const Pack<T, V>*>(p.right.p + at * static_cast<int64_t>(sizeof(T)));
      for (int k = 0; k < V; ++k) v[k] += factor * static_cast<C>(pack.v[k]);
    }
  }
  TN_DEVICE void add(const Columns& other) {
    for (int k = 0; k < V; ++k) v[k] += other.v[k];
  }
  TN_DEVICE void put(const Product<C>& p, int64_t row, int64_t column) const {
    C all[V];
    for (int k = 0; k < V; ++k) {
      all[k] = static_cast<C>(p.alpha * v[k]);
      if (p.self.p == nullptr) continue;
      all[k] += p.beta * p.self.template get<C>(row * p.self_row + (column + k) * p.self_column);
    }
    const int64_t at = row * p.n + column;
    if constexpr (V == 1) {
      p.out.template put<C>(at, all[0]);
    } else {
      Pack<T, V> pack;
      for (int k = 0; k < V; ++k) pack.v[k] = T(all[k]);
      *reinterpret_cast<Pack<T, V>*>(p.out.p + at * static_cast<int64_t>(sizeof(T))) = pack;
    }
  }
};

// The sum is in the first group of each row.
template <class Sum, class C>
TN_DEVICE Sum add_groups(Sum sum, const Product<C>& p) {
  for (int k = p.across * p.groups / 2; k >= p.across; k /= 2) {
    const Sum other = shuffle_down(sum, k);
    sum.add(other);
  }
  return sum;
}

template <class Sum, class C>
__global__ void multiply_rows(Product<C> p) {
  const int lanes = p.across * p.groups, together = kWarp / lanes;  // of a row; rows of a warp
  const int group = lane() % lanes / p.across;
  const int64_t tiles = p.template tiles<Sum::n>(), all = (p.m + together - 1) / together * tiles;
  for (int64_t t = global_thread() / kWarp; t < all; t += global_threads() / kWarp) {
    const int64_t first = tiles == 1 ? t : t / tiles, row = first * together + lane() / lanes;
    const int64_t column = p.template column<Sum::n>(t - first * tiles);
    const bool inside = row < p.m && column < p.n;
    const int64_t begin = inside ? p.starts[row] : 0, end = inside ? p.starts[row + 1] : 0;
    const bool short_enough = end - begin <= kLongRow;
    Sum sum;
    sum.clear();
    TN_UNROLL(4)
    for (int64_t e = begin + group; short_enough && e < end; e += p.groups)
      sum.add_product(p, e, column);
    sum = add_groups(sum, p);
    if (inside && short_enough && group == 0) sum.put(p, row, column);
  }
}

// A longer row holds a multiple of kLongRow among its elements: the block of the first one computes
// the row.
template <class Sum, class C>
__global__ void multiply_long_rows(Product<C> p) {
  TN_SHARED(Sum, parts, kRowBlock);
  const int group = lane() / p.across, groups = kRowWarps * p.groups;  // groups of the block
  const int64_t tiles = p.template tiles<Sum::n>();
  for (int64_t at = blockIdx.x * kLongRow; at < p.rows.n; at += gridDim.x * kLongRow) {
    const int64_t row = static_cast<int64_t>(p.rows.indices[at]);
    if (row < 0 || row >= p.m) continue;
    const int64_t begin = p.starts[row], end = p.starts[row + 1];
    if (end - begin <= kLongRow || at - begin >= kLongRow) continue;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t column = p.template column<Sum::n>(tile);
      const bool inside = column < p.n;
      Sum sum;
      sum.clear();
      TN_UNROLL(4)
      for (int64_t e = begin + warp_in_block() * p.groups + group; inside && e < end; e += groups) {
        sum.add_product(p, e, column);
      }
      sum = add_groups(sum, p);
      parts[threadIdx.x] = sum;
      __syncthreads();
      for (int w = 1; w < kRowWarps && warp_in_block() == 0; ++w) {
        const Sum other = parts[w * kWarp + lane()];
        sum.add(other);
      }
      if (warp_in_block() == 0 && inside && group == 0) sum.put(p, row, column);
      __syncthreads();
    }
  }
}

template <class T, class C, int V>
void launch_rows(const sdk::Call& call, Product<C> p) {
  using Sum = Columns<T, C, V>;
  p.across = p.groups = 1;
  while (p.across < kWarp && p.across * V < p.n) p.across *= 2;
  while (p.across * p.groups < kWarp && p.groups * 2 * p.m <= p.rows.n) p.groups *= 2;
  const int64_t warps = ceil_div(p.m, kWarp / (p.across * p.groups)) * ceil_div(p.n, p.across * V);
  launch<multiply_rows<Sum, C>>(call, shape_for(call, warps * kWarp, kRowBlock), p);
  if (p.rows.n <= kLongRow) return;
  p.groups = kWarp / p.across;
  const int64_t blocks = std::min(ceil_div(p.rows.n, kLongRow), max_blocks(call));
  launch<multiply_long_rows<Sum, C>>(call, exactly(blocks, kRowBlock), p);
}

// As many columns at once as 16 bytes hold, if aligned.
template <class T, class C>
void launch_packed(const sdk::Call& call, const Product<C>& p) {
  const auto bits = reinterpret_cast<uintptr_t>(p.right.p) | reinterpret_cast<uintptr_t>(p.out.p);
  const bool same_dtype = p.values.code == p.out.code && p.right.code == p.out.code;
  if (same_dtype && bits % 16 == 0 && p.n % kPackWidth<T> == 0)
    launch_rows<T, C, kPackWidth<T>>(call, p);
  else
    launch_rows<C, C, 1>(call, p);
}

}  // namespace tenon::cuda
