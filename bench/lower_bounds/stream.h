// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loops with non-temporal stores, on all threads.
#pragma once

#include <immintrin.h>
#include <omp.h>

#include "bench/lower_bounds/lower_bounds.h"

namespace bench::lower_bounds {

// Runs f(i) on 16-float vectors and writes the result with non-temporal stores.
template <class F>
void stream_map(float* out, long n, F f) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i += 16) _mm512_stream_ps(out + i, __m512(f(i)));
  _mm_sfence();
}

// Same with a loop the compiler vectorizes (libmvec for exp and friends): 1024 floats in L1, then
// streamed.
template <class F>
void stream_blocks(float* out, long n, F f) {
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i += 1024) {
    alignas(64) float block[1024];
    f(block, i);
    for (long j = 0; j < 1024; j += 16) _mm512_stream_ps(out + i + j, _mm512_load_ps(block + j));
  }
}

}  // namespace bench::lower_bounds
