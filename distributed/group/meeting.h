// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From an init_method to a store, a rank and a size.
#pragma once

#include <memory>
#include <string>

#include "tenon/distributed/store.h"

namespace tenon::distributed {

struct Meeting {
  std::shared_ptr<Store> store;
  int rank, size;
};
Meeting meet(const std::string& init_method, int world_size, int rank, const std::string& group,
             std::chrono::milliseconds timeout);

// A TCPStore of rank 0, whose address goes to the others over MPI, which has given out the ranks.
Meeting meet_by_mpi(int world_size, int rank, std::chrono::milliseconds timeout);

// A TCPStore of rank 0, whose address the ranks find by datagrams to a multicast address.
Meeting meet_by_multicast(const std::string& host, uint16_t port, int world_size, int rank,
                          const std::string& group, std::chrono::milliseconds timeout);

}  // namespace tenon::distributed
