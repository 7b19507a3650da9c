// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What printed CUDA C needs to be compiled as C++. Its threads neither wait for each other nor
// share memory, so they may run one after another.
#pragma once

#include <math.h>
#include <string.h>

#define __global__
#define __device__

struct Dim {
  unsigned x;
};
static Dim gridDim, blockDim, blockIdx, threadIdx;

static inline float __uint_as_float(unsigned b) {
  float v;
  memcpy(&v, &b, sizeof v);
  return v;
}
static inline unsigned __float_as_uint(float v) {
  unsigned b;
  memcpy(&b, &v, sizeof b);
  return b;
}
static inline int atomicCAS(int* p, int expected, int value) {
  const int old = *p;
  if (old == expected) *p = value;
  return old;
}

// Fewer threads than items and more, the last first.
template <class Kernel>
void run_threads(Kernel kernel, unsigned grid = 3, unsigned block = 7) {
  gridDim.x = grid;
  blockDim.x = block;
  for (unsigned t = gridDim.x * blockDim.x; t-- > 0;) {
    blockIdx.x = t / blockDim.x;
    threadIdx.x = t % blockDim.x;
    kernel();
  }
}
