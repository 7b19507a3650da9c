// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The side of the lower bounds: groups whose libraries or instructions this machine lacks are left
// out.
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif
#include <omp.h>

#include "bench/lower_bounds/lower_bounds.h"

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
    namespace lower_bounds = bench::lower_bounds;
    auto* s = new bench::Side;
    s->library = "lower_bounds";
    s->set_threads = set_threads;
    lower_bounds::small(s->suite);
    lower_bounds::train_small(s->suite);
#ifdef BENCH_AVX512
    lower_bounds::memory(s->suite);
    lower_bounds::pointwise(s->suite);
#endif
    lower_bounds::compute(s->suite);
    lower_bounds::nets(s->suite);
#ifdef BENCH_AVX512
    lower_bounds::sparse(s->suite);
#endif
    lower_bounds::linalg(s->suite);
    lower_bounds::files(s->suite);
    return s;
  }();
  return side;
}
