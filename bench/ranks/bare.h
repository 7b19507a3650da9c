// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The library that an engine is made of, called without Tenon on the same ranks.
#pragma once

#include <cstddef>
#include <memory>

#include "tenon/distributed/process_group.h"

namespace bench {

class Bare {
 public:
  virtual ~Bare() = default;
  virtual void all_reduce(float* data, std::size_t n) = 0;  // a sum, in place
  virtual void broadcast(float* data, std::size_t n) = 0;   // from rank 0
};

// Null where it was not there when the benchmark was built. Called on all ranks of the group.
std::unique_ptr<Bare> make_bare_mpi();
std::unique_ptr<Bare> make_bare_gloo(const tenon::distributed::ProcessGroup& group);

}  // namespace bench
