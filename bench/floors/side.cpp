// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The side of the lower bounds: groups whose libraries or instructions this machine lacks are left
// out.
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#include <omp.h>

#include "bench/floors/floors.h"

namespace {

void set_threads(int n) {
  omp_set_num_threads(n);
#ifdef BENCH_OPENBLAS
  openblas_set_num_threads(n);
#endif
}

}  // namespace

extern "C" bench::Side* bench_side() {
  static bench::Side* side = [] {
    namespace floors = bench::floors;
    auto* s = new bench::Side;
    s->library = "floors";
    s->set_threads = set_threads;
    floors::small(s->suite);
    floors::train_small(s->suite);
#ifdef BENCH_AVX512
    floors::memory(s->suite);
    floors::pointwise(s->suite);
#endif
    floors::compute(s->suite);
    floors::nets(s->suite);
#ifdef BENCH_AVX512
    floors::sparse(s->suite);
#endif
    floors::linalg(s->suite);
    floors::files(s->suite);
    return s;
  }();
  return side;
}
