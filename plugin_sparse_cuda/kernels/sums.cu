// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums of elements with the same linear index: by the thread at the first of them, or by a block if
// they are many.
#include "plugin_cuda/device/block.cuh"
#include "plugin_sparse_cuda/device/places.cuh"

namespace tenon::cuda {
namespace {

using namespace sdk;

constexpr int64_t kLongRun = 512;  // elements that one thread sums
constexpr int kBlock = 256;

__global__ void indices_as_keys(Places p, Pairs to) {
  for (int64_t i = global_thread(); i < p.n; i += global_threads()) {
    to.keys[i] = p.linear_index(i);
    to.values[i] = static_cast<uint32_t>(i);
  }
}

// The type that elements are summed in.
template <class F>
void with_sum_of(Code code, F&& f) {
  if (code == Code::F64) return f(Type<double>{});
  if (is_floating(code)) return f(Type<float>{});
  f(Type<int64_t>{});
}

template <class C>
__global__ void add_runs(Sorted e, Sums s, C scale) {
  for (int64_t t = global_thread(); t < e.n * s.width; t += global_threads()) {
    int64_t i = s.width == 1 ? t : t / s.width;
    const int64_t column = s.width == 1 ? 0 : t % s.width;
    const uint64_t place = e.indices[i];
    if (i > 0 && e.indices[i - 1] == place) continue;
    if (i + kLongRun < e.n && e.indices[i + kLongRun] == place) continue;
    const int64_t row = s.rows == nullptr ? static_cast<int64_t>(place) : s.rows[i];
    C sum = 0;
    for (; i < e.n && e.indices[i] == place; ++i)
      sum += s.values.get<C>(e.position(i) * s.width + column);
    s.put(row, column, sum, scale);
  }
}

// The others hold a multiple of kLongRun: the block of the first one sums them, each of its groups
// of threads for several columns, up to a warp's.
template <class C>
__global__ void add_long_runs(Sorted e, Sums s, C scale, int across) {
  TN_SHARED(C, parts, kBlock);
  const int mine = static_cast<int>(threadIdx.x) % across,
            group = static_cast<int>(threadIdx.x) / across;
  for (int64_t at = blockIdx.x * kLongRun; at < e.n; at += gridDim.x * kLongRun) {
    const uint64_t place = e.indices[at];
    const int64_t start = count_below(e.indices, e.n, place),
                  end = count_below(e.indices, e.n, place + 1);
    if (end - start <= kLongRun || at - start >= kLongRun) continue;
    const int64_t row = s.rows == nullptr ? static_cast<int64_t>(place) : s.rows[start];
    for (int64_t c = 0; c < s.width; c += across) {
      C sum = 0;
      for (int64_t i = start + group; c + mine < s.width && i < end; i += kBlock / across) {
        sum += s.values.get<C>(e.position(i) * s.width + c + mine);
      }
      parts[threadIdx.x] = sum;
      __syncthreads();
      for (int half = kBlock / 2; half >= across; half /= 2) {
        if (static_cast<int>(threadIdx.x) < half) {
          const C other = parts[threadIdx.x + half];
          parts[threadIdx.x] += other;
        }
        __syncthreads();
      }
      if (group == 0 && c + mine < s.width) {
        const C all = parts[mine];
        s.put(row, c + mine, all, scale);
      }
      __syncthreads();
    }
  }
}

template <class C>
__global__ void scatter_unique(Places p, Sums s, C scale) {
  for (int64_t t = global_thread(); t < p.n * s.width; t += global_threads()) {
    const int64_t i = s.width == 1 ? t : t / s.width;
    s.put(static_cast<int64_t>(p.linear_index(i)), t - i * s.width, s.values.get<C>(t), scale);
  }
}

}  // namespace

Pairs sort_places(const Call& call, const Places& p, uint64_t trailing) {
  const SortMemory memory(call, p.n);
  if (p.n == 0) return memory.pairs;
  launch<indices_as_keys>(call, shape_for(call, p.n), p, memory.pairs);
  sort_pairs(call, memory.pairs, p.bits(), memory.scratch, memory.scratch_bytes - trailing);
  return memory.pairs;
}

void sum_duplicates(const Call& call, const Sorted& e, const Sums& s, const Scalar& scale) {
  if (e.n == 0 || s.width == 0) return;
  with_sum_of(s.values.code, [&](auto tag) {
    using C = tn_type(tag);
    launch<add_runs<C>>(call, shape_for(call, e.n * s.width), e, s, scale.to<C>());
    if (e.n <= kLongRun) return;
    int across = 1;
    while (across < kWarp && across < s.width) across *= 2;
    launch<add_long_runs<C>>(call,
                             exactly(std::min(ceil_div(e.n, kLongRun), max_blocks(call)), kBlock),
                             e, s, scale.to<C>(), across);
  });
}

void scatter_distinct(const Call& call, const Places& p, const Sums& s, const Scalar& scale) {
  if (p.n == 0 || s.width == 0) return;
  with_sum_of(s.values.code, [&](auto tag) {
    using C = tn_type(tag);
    launch<scatter_unique<C>>(call, shape_for(call, p.n * s.width), p, s, scale.to<C>());
  });
}

}  // namespace tenon::cuda
