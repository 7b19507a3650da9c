// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Note "why not MPI_Iallreduce". Open MPI's non-blocking reductions exchange whole buffers through
// memory that is fresh for each call: 1 MiB takes two ranks 2.2 times as long as MPI_Allreduce, 64
// MiB as well. A blocking call has no timeout. So a large reduction is messages: each rank gets its
// part of the others' elements, combines them, and gives the result to those that want it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "plugin_mpi/messages.h"
#include "tenon/sdk/collective.h"

namespace tenon::mpi_engine {

// all_reduce, reduce or reduce_scatter in segments. A segment goes in two phases, each of which is
// one message between any two ranks: elements to the rank that combines them, results back. They
// are combined in the order of ranks, so that bits do not depend on how elements are divided. A few
// elements go to all ranks that want the result, each of which combines them: one phase.
class Exchange final : public Messages {
 public:
  struct Reduction {
    int32_t operation, reduction;
    int root;
    sdk::CollectiveBuffer in, out;
    MPI_Datatype type;
    MPI_Op op;
  };
  // Whether it is as fast as MPI's own for so many bytes of a rank's elements.
  static bool serves(size_t bytes, int size);
  Exchange(Communicator& group, const Reduction& what);

 private:
  struct Part {
    size_t at, elements;
  };
  struct Plan {
    bool whole;             // elements go to all ranks that want the result
    size_t total, segment;  // elements, of each rank's part in reduce_scatter
    size_t message;         // elements at most
    size_t scratch;         // bytes
  };
  enum class Phase { kElements, kResults };

  static Plan plan(const Communicator& group, const Reduction& what);
  Exchange(Communicator& group, const Reduction& what, const Plan& plan);
  bool go_on() override;
  bool combines(int rank) const;
  Part part_of(int rank) const;  // of the segment, in `in`
  char* slot_of(int rank);
  char* result();
  void begin_segment();
  void combine();
  void give_results();

  const Reduction what_;
  const Plan plan_;
  const bool scatters_;
  Phase phase_ = Phase::kResults;
  size_t at_ = 0, length_ = 0;  // the segment under way
};

}  // namespace tenon::mpi_engine
