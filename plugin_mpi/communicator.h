// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "plugin_mpi/receives.h"
#include "plugin_mpi/scratch.h"

namespace tenon::mpi_engine {

// Of a group. `exchanges` has the messages of Exchange, whose tags are not the program's.
struct Communicator {
  MPI_Comm comm = MPI_COMM_NULL, exchanges = MPI_COMM_NULL;
  int rank = 0, size = 0, max_tag = 0;
  std::atomic<bool> aborted{false};
  uint32_t begun = 0;  // exchanges; of the thread that begins them
  Scratch scratch;
  Receives receives;
};

}  // namespace tenon::mpi_engine
