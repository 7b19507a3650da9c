// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// embedding and its gradient. Rows of the gradient are summed in the order of the indices, 16-bit floats in float32;
// threads share out columns.
#include "tenon/sdk/ops/embedding.h"

#include <algorithm>
#include <cstring>

#include "plugin_cpu/accumulate.h"
#include "plugin_cpu/indices.h"
#include "tenon/sdk/ops/embedding_dense_backward.h"

namespace tenon::cpu {
namespace {

using namespace sdk;

tn_status embedding(Call&, Tensor out, Tensor weight, Tensor indices, int64_t, bool, bool) {
  const std::vector<int64_t> at = read_indices(indices, 0, weight.size(0));
  const int64_t width = weight.size(1), n = static_cast<int64_t>(at.size());
  if (out.numel() == 0) return TN_OK;
  const std::size_t run = static_cast<std::size_t>(width * item_size(weight.dtype()));
  const char* from = weight.data<char>();
  char* to = out.data<char>();
  parallel_for(n, std::max<int64_t>(1, kMoveGrain / width), [&](int64_t begin, int64_t end) {
    for (std::size_t i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      std::memcpy(to + i * run, from + static_cast<std::size_t>(at[i]) * run, run);
    }
  });
  return TN_OK;
}
TN_KERNEL(embedding, embedding, dtypes("floating").mixed_dtypes());

// Rows come from anywhere in memory: each is asked for some rows before its turn.
template <class A, class T>
void add_rows(A* __restrict sum, const T* __restrict grad, const std::vector<int64_t>& at,
              const std::vector<int64_t>& count, int64_t width, int64_t skip, int64_t begin, int64_t end) {
  constexpr std::size_t kAhead = 6;
  constexpr int64_t kLine = 64 / sizeof(A);
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (i + kAhead < at.size()) {
      const A* next = sum + at[i + kAhead] * width;
      for (int64_t k = begin; k < end; k += kLine) __builtin_prefetch(next + k, 1);
    }
    if (at[i] == skip) continue;
    A* __restrict s = sum + at[i] * width;
    const T* __restrict g = grad + static_cast<int64_t>(i) * width;
    if (count.empty()) {
      for (int64_t k = begin; k < end; ++k) s[k] += static_cast<A>(g[k]);
    } else {
      const A scale = A(1) / static_cast<A>(count[static_cast<std::size_t>(at[i])]);
      for (int64_t k = begin; k < end; ++k) s[k] += static_cast<A>(g[k]) * scale;
    }
  }
}

tn_status embedding_dense_backward(Call&, Tensor out, Tensor grad, Tensor indices, int64_t num_weights,
                                   int64_t padding_idx, bool by_frequency) {
  const std::vector<int64_t> at = read_indices(indices, 0, num_weights);
  const int64_t width = out.size(1);
  std::vector<int64_t> count;
  if (by_frequency) {
    count.assign(static_cast<std::size_t>(num_weights), 0);
    for (int64_t i : at) ++count[static_cast<std::size_t>(i)];
  }
  std::memset(out.data<char>(), 0, static_cast<std::size_t>(out.numel() * item_size(out.dtype())));
  if (out.numel() == 0) return TN_OK;
  accumulate_in(out, [&](const Tensor& target, auto wide, auto tag) {
    using A = tn_type(wide);
    using T = tn_type(tag);
    if constexpr (std::is_floating_point_v<A>) {
      const int64_t grain = width >= 128 ? 64 : width;
      parallel_for(width, grain, [&](int64_t begin, int64_t end) {
        add_rows<A, T>(target.data<A>(), grad.data<T>(), at, count, width, padding_idx, begin, end);
      });
    }
  });
  return TN_OK;
}
TN_KERNEL(embedding_dense_backward, embedding_dense_backward, dtypes("floating").mixed_dtypes());

}  // namespace
}  // namespace tenon::cpu
