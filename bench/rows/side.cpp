// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One library's side. Rows of groups other than train_small run without recording.
#include "bench/rows/rows.h"

namespace {

// Runs a group's rows with recording off, both makers and loops.
void unrecorded(Suite& all, void (*fill)(Suite&)) {
  Suite group;
  fill(group);
  for (auto& row : group.rows) {
    row.make = [make = std::move(row.make)]() -> bench::Loop {
      torch::NoGradGuard off;
      return [loop = make()](long n) {
        torch::NoGradGuard inner;
        loop(n);
      };
    };
    all.rows.push_back(std::move(row));
  }
}

}  // namespace

extern "C" bench::Side* bench_side() {
  static bench::Side* side = [] {
    auto* s = new bench::Side;
    s->library = BENCH_LIBRARY;
    s->set_threads = [](int n) { at::set_num_threads(n); };
    torch::manual_seed(1);
    unrecorded(s->suite, small_rows);
#ifdef BENCH_NULL_PLUGIN
    abi_rows(s->suite);
#endif
    train_rows(s->suite);
    for (auto fill : {memory_rows, pointwise_rows, compute_rows, nets_rows, linalg_rows,
                      sparse_rows, files_rows})
      unrecorded(s->suite, fill);
    return s;
  }();
  return side;
}
