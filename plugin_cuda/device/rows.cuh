// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rows of contiguous elements that a warp or a block keeps in registers: memory is read once,
// sixteen bytes at a time where rows are aligned to them. The layout of a row over the threads
// depends on its length and its alignment alone.
#pragma once

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

// The threads that share a row. All of them call reduce(), which returns the result in each.
struct ByWarp {
  static constexpr int kMaxThreads = 128, kMinBlocks = 4;
  TN_DEVICE static int64_t row() {
    return static_cast<int64_t>(blockIdx.x) * warps_of_block() + warp_in_block();
  }
  TN_DEVICE static int64_t rows_step() {
    return static_cast<int64_t>(gridDim.x) * warps_of_block();
  }
  TN_DEVICE static int warp() { return 0; }
  template <class V, class Op>
  TN_DEVICE static V reduce(V v, V, Op op) {
    return shuffle_from(warp_reduce(v, op), 0);
  }
};
struct ByBlock {
  static constexpr int kMaxThreads = 1024, kMinBlocks = 0;
  TN_DEVICE static int64_t row() { return blockIdx.x; }
  TN_DEVICE static int64_t rows_step() { return gridDim.x; }
  TN_DEVICE static int thread() { return static_cast<int>(threadIdx.x); }
  TN_DEVICE static int threads() { return static_cast<int>(blockDim.x); }
  TN_DEVICE static int warp() { return warp_in_block(); }
  template <class V, class Op>
  TN_DEVICE static V reduce(V v, V identity, Op op) {
    return block_reduce(v, identity, op);
  }
};

// Of a block; fewer where an element takes two registers.
template <class S, class Group>
constexpr int max_threads_of_row() {
  return sizeof(S) > 4 && Group::kMaxThreads > 512 ? 512 : Group::kMaxThreads;
}

// The W elements from row[i] on, by default sixteen bytes, whose address is a multiple of their
// size.
template <int W = 0, class S>
TN_DEVICE auto& pack_at(S* row, int64_t i) {
  using Value = std::remove_const_t<S>;
  using Elements = Pack<Value, W == 0 ? kPackWidth<Value> : W>;
  return *reinterpret_cast<std::conditional_t<std::is_const_v<S>, const Elements, Elements>*>(row +
                                                                                              i);
}

// A thread's N elements of a row of n <= N * threads elements, in packs of W neighbors; n is a
// multiple of W. Each warp has the next 32 * N elements, so that all offsets are constants: those
// of the block's size would take registers of their own.
template <class S, class Group, int N, int W>
struct RowInRegisters {
  using By = Group;
  using Storage = S;
  using Compute = sdk::compute_t<S>;
  static constexpr int kMaxThreads = max_threads_of_row<S, Group>(), kMinBlocks = Group::kMinBlocks;

  Compute v[N];

  TN_DEVICE static int first() { return Group::warp() * kWarp * N + lane() * W; }
  // f(i, offset) for each pack of the thread: v[i] to v[i + W - 1] are the columns from first() +
  // offset.
  template <class F>
  TN_DEVICE static void for_packs(int n, F f) {
    const int left = n - first();
    TN_UNROLL(N / W)
    for (int k = 0; k < N / W; ++k) {
      if (k * kWarp * W < left) f(k * W, k * kWarp * W);
    }
  }
  // f(i) for each v[i] that is an element.
  template <class F>
  TN_DEVICE static void for_elements(int n, F f) {
    for_packs(n, [&](int i, int) {
      TN_UNROLL(W)
      for (int j = 0; j < W; ++j) f(i + j);
    });
  }

  TN_DEVICE void load(const S* row, int n) {
    const S* at = row + first();
    for_packs(n, [&](int i, int offset) {
      const Pack<S, W> p = pack_at<W>(at, offset);
      TN_UNROLL(W)
      for (int j = 0; j < W; ++j) v[i + j] = static_cast<sdk::compute_t<S>>(p.v[j]);
    });
  }
  // v = f(v, element of another row), where that is not null.
  template <class F>
  TN_DEVICE void combine(const S* row, int n, F f) {
    if (row == nullptr) return;
    const S* at = row + first();
    for_packs(n, [&](int i, int offset) {
      const Pack<S, W> p = pack_at<W>(at, offset);
      TN_UNROLL(W)
      for (int j = 0; j < W; ++j) v[i + j] = f(v[i + j], static_cast<sdk::compute_t<S>>(p.v[j]));
    });
  }
  TN_DEVICE void store(S* row, int n) const {
    S* at = row + first();
    for_packs(n, [&](int i, int offset) {
      Pack<S, W> p;
      TN_UNROLL(W)
      for (int j = 0; j < W; ++j) p.v[j] = static_cast<S>(v[i + j]);
      pack_at<W>(at, offset) = p;
    });
  }
};

// By all threads of a block: packs(i) for sixteen bytes from row[i] on, and one(i) for an element
// before the first of these packs or after the last.
template <class S, class One, class Packs>
TN_DEVICE void for_row(const S* row, int64_t n, One one, Packs packs) {
  constexpr int W = kPackWidth<S>;
  const int64_t thread = threadIdx.x, threads = blockDim.x;
  const auto behind = static_cast<int64_t>(reinterpret_cast<uintptr_t>(row) / sizeof(S) % W);
  const int64_t before = behind == 0 ? 0 : W - behind < n ? W - behind : n;
  const int64_t end = before + (n - before) / W * W;
  for (int64_t i = thread; i < before; i += threads) one(i);
  TN_UNROLL(4)
  for (int64_t i = before + thread * W; i < end; i += threads * W) packs(i);
  for (int64_t i = end + thread; i < n; i += threads) one(i);
}

// Whether for_row() may access other rows at the same indices: all addresses modulo sixteen are
// equal.
inline bool same_alignment(std::initializer_list<const void*> pointers) {
  uintptr_t bits = 0;
  for (const void* p : pointers)
    bits |= reinterpret_cast<uintptr_t>(p) ^ reinterpret_cast<uintptr_t>(*pointers.begin());
  return bits % 16 == 0;
}

// Whether rows of n elements can be accessed in packs of sixteen bytes; null pointers are.
template <class S>
bool rows_are_aligned(int64_t n, std::initializer_list<const void*> pointers) {
  uintptr_t bits = static_cast<uintptr_t>(n) * sizeof(S);
  for (const void* p : pointers) bits |= reinterpret_cast<uintptr_t>(p);
  return bits % 16 == 0;
}

inline constexpr int kLongRowThreads = 512;  // at most, for a row that is not in registers

// Threads of a block that are preferred to more elements per thread: several blocks of that size
// fit into a multiprocessor.
inline constexpr int64_t kFewThreads = 512;

// run(Type<RowInRegisters<...>>, shape) for kernels of rows of n elements of type S that keep
// `Arrays` of them; false where registers do not suffice.
template <class S, int Arrays, class Run>
bool with_row_in_registers(const sdk::Call& call, int64_t rows, int64_t n, bool aligned, Run run) {
  constexpr bool kLarge = sizeof(S) > 4;
  constexpr int kShort = kLarge ? 4 : 8, kFew = kLarge ? 8 : 16, kMany = 32;
  const int64_t most = 8 * max_blocks(call);
  const auto warps = [&](auto row) {
    run(row,
        Shape{std::min(ceil_div(rows, ByWarp::kMaxThreads / kWarp), most), ByWarp::kMaxThreads});
    return true;
  };
  const auto blocks = [&](auto row, int64_t elements) {
    const int64_t threads = std::max<int64_t>(64, ceil_div(n, elements * kWarp) * kWarp);
    using Row = tn_type(row);
    if (threads > Row::kMaxThreads) return false;
    run(row, exactly(std::min(rows, most), static_cast<int>(threads)));
    return true;
  };
  const auto by_width = [&](auto width) {
    constexpr int W = decltype(width)::value;
    if (n <= kShort * kWarp) return warps(sdk::Type<RowInRegisters<S, ByWarp, kShort, W>>{});
    if constexpr (!kLarge) {
      if (n <= kMany * kWarp) return warps(sdk::Type<RowInRegisters<S, ByWarp, kMany, W>>{});
      if constexpr (Arrays == 1 && W > 1) {
        if (n > kFew * kFewThreads)
          return blocks(sdk::Type<RowInRegisters<S, ByBlock, kMany, W>>{}, kMany);
      }
    }
    return blocks(sdk::Type<RowInRegisters<S, ByBlock, kFew, W>>{}, kFew);
  };
  if (aligned) return by_width(std::integral_constant<int, kPackWidth<S>>{});
  if constexpr (!kLarge) return by_width(std::integral_constant<int, 1>{});
  return false;
}

}  // namespace tenon::cuda
