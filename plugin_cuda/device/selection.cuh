// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements that flags select, in order: blocks count, one block scans the counts, and blocks write
// from their offsets.
#pragma once

#include <algorithm>

#include "plugin_cuda/device/chunks.cuh"
#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/launch.cuh"

namespace tenon::cuda {

inline constexpr int kSelectionBlock = 256;
inline constexpr int64_t kMaxChunks = 1024;
inline constexpr uint64_t kStartsBytes = (kMaxChunks + 1) * sizeof(int64_t);

inline int64_t chunk_of(int64_t n) {
  return ceil_div(std::max<int64_t>(ceil_div(n, kMaxChunks), 1024), kSelectionBlock) *
         kSelectionBlock;
}

// Row-major elements, by chunks of whole blocks; starts[chunks] is the total.
struct Selection {
  const char* flags;
  Code code;
  int32_t item;
  int64_t n, chunk, chunks;
  int64_t* starts;

  TN_DEVICE int64_t marks(int64_t i) const {
    const char* p = flags + i * item;
    if (code == Code::I64) return read<int64_t>(p) != 0;
    return load<double>(p, code) != 0;
  }
};

// write(element, its position among the selected)
template <class Write>
__global__ void scatter_selected(Selection s, Write write) {
  for_each_counted(s, [&](int64_t i, bool marked, int64_t to_here) {
    if (marked) write(i, to_here - 1);
  });
}

// `starts` has kStartsBytes.
inline Selection select(const char* flags, sdk::DType dtype, int64_t n, int64_t* starts) {
  const int64_t chunk = chunk_of(n);
  return {flags, code_of(dtype), static_cast<int32_t>(sdk::item_size(dtype)),
          n,     chunk,          ceil_div(n, chunk),
          starts};
}

// Computes all starts. s.n is not 0.
inline void count_selected(const sdk::Call& call, const Selection& s) {
  launch<count_marks<Selection>>(call, {s.chunks, kSelectionBlock}, s);
  launch<add_up_counts<Selection>>(call, {1, 1024}, s);
}
// The same; returns the total, for which the host waits.
inline int64_t count_all(const sdk::Call& call, const Selection& s) {
  if (s.n == 0) return 0;
  count_selected(call, s);
  int64_t total = 0;
  read_back(call, &total, s.starts + s.chunks, sizeof total);
  return total;
}

template <class Write>
void launch_scatter_selected(const sdk::Call& call, const Selection& s, const Write& write) {
  launch<scatter_selected<Write>>(call, {s.chunks, kSelectionBlock}, s, write);
}

}  // namespace tenon::cuda
