// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Offsets of element i in N strided operands. The host merges dimensions (sdk::StridedLoop) and
// splits large loops into pieces, so that the device computes indices with 32 bits and offsets
// with 64.
#pragma once

#include <type_traits>

#include "plugin_cuda/device/device.cuh"
#include "tenon/sdk/loops.h"

namespace tenon::cuda {

// Division by an integer that the host knows: n / d for n < 2^31.
struct Divider {
  uint32_t divisor = 1, factor = 1, shift = 0;

  Divider() = default;
  explicit Divider(uint32_t d) : divisor(d) {
    while (shift < 31 && (uint32_t{1} << shift) < d) ++shift;
    factor = static_cast<uint32_t>((((uint64_t{1} << shift) - d) << 32) / d + 1);
  }
  TN_DEVICE uint32_t divide(uint32_t n) const { return (__umulhi(n, factor) + n) >> shift; }
};

inline constexpr int kIndexDims = 8;
inline constexpr int64_t kPieceElements = int64_t{1} << 30;

template <int N>
struct Strided {
  static constexpr int kOperands = N;
  char* base[N];
  int64_t stride[N][kIndexDims];  // bytes; dimension 0 is the innermost
  Divider size[kIndexDims];
  int32_t ndim;
  uint32_t numel;

  // Of element i < numel, in bytes from base.
  TN_DEVICE void offsets(uint32_t i, int64_t (&at)[N]) const {
    for (int k = 0; k < N; ++k) at[k] = 0;
    for (int d = 0; d < ndim - 1; ++d) {
      const uint32_t rest = size[d].divide(i), digit = i - rest * size[d].divisor;
      for (int k = 0; k < N; ++k) at[k] += digit * stride[k][d];
      i = rest;
    }
    for (int k = 0; k < N; ++k) at[k] += i * stride[k][ndim - 1];
  }
};

// A loop with no dimension merged away counts as one of one element.
template <int N>
Strided<N> make_strided(const sdk::StridedLoop& loop, int dims, const int64_t* sizes,
                        char* const* base) {
  Strided<N> s{};
  s.ndim = dims;
  int64_t n = 1;
  for (int d = 0; d < dims; ++d) {
    s.size[d] = Divider(static_cast<uint32_t>(sizes[d]));
    n *= sizes[d];
    for (int k = 0; k < N; ++k) s.stride[k][d] = loop.strides[d][k];
  }
  s.numel = static_cast<uint32_t>(n);
  for (int k = 0; k < N; ++k) s.base[k] = base[k];
  return s;
}

// See below; f is called with `context`.
template <int N>
void each_piece(const sdk::StridedLoop& loop, void* context,
                void (*f)(void* context, const Strided<N>& at)) {
  if (loop.numel == 0) return;
  int inner = 0;  // dimensions of a piece
  int64_t n = 1, sizes[kIndexDims];
  while (inner < loop.ndim && inner < kIndexDims && n * loop.sizes[inner] <= kPieceElements) {
    sizes[inner] = loop.sizes[inner];
    n *= loop.sizes[inner++];
  }
  // If not even the innermost dimension fits, it is cut.
  const bool cut = inner == 0;
  const int64_t run = cut ? kPieceElements : 1;
  if (cut) inner = 1;
  int64_t index[sdk::kMaxDims] = {};
  for (;;) {
    char* base[N];
    for (int k = 0; k < N; ++k) {
      base[k] = loop.base[k];
      for (int d = cut ? 0 : inner; d < loop.ndim; ++d) base[k] += index[d] * loop.strides[d][k];
    }
    if (cut) sizes[0] = loop.sizes[0] - index[0] < run ? loop.sizes[0] - index[0] : run;
    f(context, make_strided<N>(loop, inner, sizes, base));
    int d = cut ? 0 : inner;
    for (; d < loop.ndim; ++d) {
      index[d] += d == 0 ? run : 1;
      if (index[d] < loop.sizes[d]) break;
      index[d] = 0;
    }
    if (d == loop.ndim) return;
  }
}

// f(Strided<N>) for each piece of a finished loop of N operands; most have one.
template <int N, class F>
void for_each_piece(const sdk::StridedLoop& loop, F&& f) {
  using Callable = std::remove_reference_t<F>;
  each_piece<N>(loop, &f, [](void* p, const Strided<N>& at) { (*static_cast<Callable*>(p))(at); });
}

}  // namespace tenon::cuda
