// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// MPI as the plugin has begun it, with its blocking calls.
#include "bench/ranks/bare.h"

#ifdef BENCH_MPI
#include <mpi.h>
#endif

namespace bench {

#ifdef BENCH_MPI
namespace {

class BareMpi : public Bare {
 public:
  BareMpi() { MPI_Comm_dup(MPI_COMM_WORLD, &comm_); }
  ~BareMpi() override { MPI_Comm_free(&comm_); }
  void all_reduce(float* data, std::size_t n) override {
    MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(n), MPI_FLOAT, MPI_SUM, comm_);
  }
  void broadcast(float* data, std::size_t n) override {
    MPI_Bcast(data, static_cast<int>(n), MPI_FLOAT, 0, comm_);
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<Bare> make_bare_mpi() { return std::make_unique<BareMpi>(); }
#else
std::unique_ptr<Bare> make_bare_mpi() { return nullptr; }
#endif

}  // namespace bench
