// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// embedding and its gradient. Rows of the gradient are summed in the order of the indices, 16-bit
// floats in float32; threads share out columns, or rows where there are many.
#include "tenon/sdk/ops/embedding.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/memory/accumulate.h"
#include "plugin_cpu/memory/indices.h"
#include "tenon/sdk/ops/embedding_dense_backward.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

tn_status embedding(Call&, Tensor out, Tensor weight, Tensor indices, int64_t, bool, bool) {
  constexpr int64_t kAhead = 16;
  const IndexList at(indices, 0, weight.size(0));
  const int64_t width = weight.size(1), n = at.size();
  if (out.numel() == 0) return TN_OK;
  const int64_t run = width * item_size(weight.dtype());
  const char* from = weight.data<char>();
  char* to = out.data<char>();
  parallel_for(n, std::max<int64_t>(1, kMoveGrain / width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i + kAhead < n) prefetch_row(from + at[i + kAhead] * run, run);
      std::memcpy(to + i * run, from + at[i] * run, static_cast<std::size_t>(run));
    }
  });
  return TN_OK;
}
TN_KERNEL(embedding, embedding, dtypes("floating").mixed_dtypes());

// What is added to the rows of the gradient: row i of `grad` to row at[i], divided by its count
// where there are counts.
template <class T>
struct Rows {
  const T* grad;
  int64_t step;  // from one row to the next; 0: they are all the same
  const IndexList& at;
  const std::vector<int64_t>& count;
  int64_t width, skip;

  // Columns [begin, end) of one row.
  template <class A>
  void add(int64_t i, A* __restrict sum, int64_t begin, int64_t end) const {
    if (at[i] == skip) return;
    A* __restrict s = sum + at[i] * width;
    const T* __restrict g = grad + i * step;
    if (count.empty()) {
      for (int64_t k = begin; k < end; ++k) s[k] += static_cast<A>(g[k]);
    } else {
      const A scale = A(1) / static_cast<A>(count[static_cast<std::size_t>(at[i])]);
      for (int64_t k = begin; k < end; ++k) s[k] += static_cast<A>(g[k]) * scale;
    }
  }
};

// Threads share out columns. Rows lie anywhere in memory: each is prefetched some rows ahead.
template <class A, class T>
void add_columns(A* sum, const Rows<T>& rows) {
  constexpr int64_t kAhead = 6, kLine = 64 / sizeof(A);
  const int64_t n = rows.at.size(), width = rows.width;
  parallel_for(width, width >= 128 ? 64 : width, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < n; ++i) {
      if (i + kAhead < n) {
        const A* next = sum + rows.at[i + kAhead] * width;
        for (int64_t k = begin; k < end; k += kLine) __builtin_prefetch(next + k, 1);
      }
      rows.add(i, sum, begin, end);
    }
  });
}

// Blocks of rows of a gradient too large for a cache: each is cleared and accumulated by one
// thread, while it is in its cache.
constexpr int64_t kBlockBytes = 256 << 10, kFewBlocks = 8;

template <class A, class T>
void clear_and_add_blocks(A* sum, int64_t height, const Rows<T>& rows) {
  const int64_t n = rows.at.size(), row_bytes = rows.width * static_cast<int64_t>(sizeof(A));
  int shift = 0;  // 2^shift rows per block
  while (row_bytes << (shift + 1) <= kBlockBytes) ++shift;
  const int64_t blocks = ((height - 1) >> shift) + 1;
  // Positions by block, in their order within each: start[b] is where those of block b begin.
  std::vector<int64_t> start(static_cast<std::size_t>(blocks) + 2, 0),
      order(static_cast<std::size_t>(n));
  for (int64_t i = 0; i < n; ++i) ++start[static_cast<std::size_t>((rows.at[i] >> shift) + 2)];
  for (std::size_t b = 3; b < start.size(); ++b) start[b] += start[b - 1];
  for (int64_t i = 0; i < n; ++i) {
    order[static_cast<std::size_t>(start[static_cast<std::size_t>((rows.at[i] >> shift) + 1)]++)] =
        i;
  }
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    const int64_t first = begin << shift, last = std::min(height, end << shift);
    std::memset(sum + first * rows.width, 0, static_cast<std::size_t>((last - first) * row_bytes));
    const int64_t to = start[static_cast<std::size_t>(end)];
    for (int64_t k = start[static_cast<std::size_t>(begin)]; k < to; ++k) {
      rows.add(order[static_cast<std::size_t>(k)], sum, 0, rows.width);
    }
  });
}

template <class T>
void sum_rows(const Tensor& out, const Tensor& grad, const IndexList& at,
              const std::vector<int64_t>& count, int64_t skip) {
  const int64_t width = out.size(1), height = out.size(0);
  // If all rows are one scalar, a single row is used for all.
  const bool one = same_everywhere(grad);
  const std::vector<T> row(static_cast<std::size_t>(one ? width : 0), one ? *grad.data<T>() : T(0));
  std::optional<Dense> dense;
  if (!one) dense.emplace(grad);
  const Rows<T> rows{
      one ? row.data() : dense->tensor().data<T>(), one ? 0 : width, at, count, width, skip};
  const int64_t bytes = out.numel() * item_size(out.dtype());
  if constexpr (!is_half_v<T>) {
    if (bytes >= kFewBlocks * kBlockBytes) return clear_and_add_blocks(out.data<T>(), height, rows);
  }
  std::fill_n(out.data<char>(), bytes, char{0});
  accumulate_in(out, [&](const Tensor& target, auto wide, auto) {
    using A = tn_type(wide);
    if constexpr (std::is_same_v<A, compute_t<T>>) add_columns(target.data<A>(), rows);
  });
}

tn_status embedding_dense_backward(Call&, Tensor out, Tensor grad, Tensor indices,
                                   int64_t num_weights, int64_t padding_idx, bool by_frequency) {
  const IndexList at(indices, 0, num_weights);
  if (out.numel() == 0) return TN_OK;
  std::vector<int64_t> count;
  if (by_frequency) {
    count.assign(static_cast<std::size_t>(num_weights), 0);
    for (int64_t i = 0; i < at.size(); ++i) ++count[static_cast<std::size_t>(at[i])];
  }
  if (at.size() == 0) {
    std::fill_n(out.data<char>(), out.numel() * item_size(out.dtype()), char{0});
    return TN_OK;
  }
  dispatch_floating(out.dtype(),
                    [&](auto tag) { sum_rows<tn_type(tag)>(out, grad, at, count, padding_idx); });
  return TN_OK;
}
TN_KERNEL(embedding_dense_backward, embedding_dense_backward,
          dtypes("floating").mixed_dtypes().any_strides());

}  // namespace
}  // namespace tenon::cpu
