// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of the rows: plain loops and raw libraries on buffers that are already mapped, under
// the names of the rows. A name may stand for several implementations; the fastest on this machine
// is the lower bound.
#pragma once

#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.h"

namespace bench::lower_bounds {

inline constexpr long M = 1 << 20;

inline std::mt19937_64 generator(1);

template <class T>
using Buffer = std::shared_ptr<T[]>;

template <class T>
Buffer<T> raw(long n) {
  size_t bytes = size_t(n) * sizeof(T);
  size_t align = bytes >= (2u << 20) ? (2u << 20) : 64;
  bytes = (bytes + align - 1) / align * align;
  void* p = aligned_alloc(align, bytes);
  if (align > 64) madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 0, bytes);
  return Buffer<T>(static_cast<T*>(p), [](T* q) { free(q); });
}

inline Buffer<float> floats(long n) {
  auto b = raw<float>(n);
  uint32_t state = uint32_t(generator());
  for (long i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    b[i] = float(state >> 8) * 0x1p-24f;
  }
  return b;
}

inline Buffer<int64_t> integers(long n, int64_t below) {
  auto b = raw<int64_t>(n);
  for (long i = 0; i < n; ++i) b[i] = int64_t(generator() % uint64_t(below));
  return b;
}

// What no design can avoid for a fresh result: one heap block for header and data, one indirect
// call, one free.
using Kernel = void (*)(float*, float const*, float const*, long);
template <class F>
Kernel hidden(F f) {
  Kernel volatile k = f;
  return k;
}

// 16 floats.
typedef float V __attribute__((vector_size(64), aligned(4)));
inline V load(float const* p) { return *reinterpret_cast<V const*>(p); }
inline void store(float* p, V v) { *reinterpret_cast<V*>(p) = v; }

// C[m x n] = A * B for small sizes; A is read as A[i*ai + k*ak], so a transposed A costs nothing. n
// is 64 or 16.
void small_gemm(float const* a, long ai, long ak, float const* b, float* c, long m, long n, long k);

// The rows of one group.
struct Group {
  Suite& suite;
  char const* name;
  template <class Make>
  void operator()(std::string const& row, Make make, char const* note = "", double per = 1) const {
    suite.row(name, row, make, note, per);
  }
};

// Sorts (key, payload) pairs by their upper 32 bits: three 11-bit passes. The result is in `spare`.
void radix(uint64_t* a, uint64_t* spare, long n);

void small(Suite& s);
void train_small(Suite& s);
void memory(Suite& s);
void pointwise(Suite& s);
void compute(Suite& s);
void nets(Suite& s);
void sparse(Suite& s);
void linalg(Suite& s);
void files(Suite& s);

// The bfloat16 product on the tiles of AMX; throws if the machine has none.
Loop amx_matmul(long n);
Loop amx_conv3x3(long batch, long channels, long side);
// Attention in bfloat16 on them, keys and values prepacked; throws likewise.
Loop amx_attention(long heads, long length, long depth);

}  // namespace bench::lower_bounds
