// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Saving and loading, each library in its own format.
#include <unistd.h>

#include "bench/rows/rows.h"

namespace {

// A file in memory, removed with the last row that uses it.
struct File {
  std::string path = "/dev/shm/bench_" BENCH_LIBRARY "." + std::to_string(getpid());
  ~File() { unlink(path.c_str()); }
};

}  // namespace

void files_rows(Suite& s) {
  s.row(
      "files", "save_512MB",
      [] {
        return
            [f = std::make_shared<File>(), t = torch::rand({128 * M})] { torch::save(t, f->path); };
      },
      "to tmpfs");
  s.row(
      "files", "load_512MB",
      [] {
        auto f = std::make_shared<File>();
        torch::save(torch::rand({128 * M}), f->path);
        return [=] {
          Tensor t;
          torch::load(t, f->path);
          keep(t);
        };
      },
      "from tmpfs");
}
