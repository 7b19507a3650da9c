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
#include <string>
#include <utility>

#include "plugin_mpi/communicator.h"
#include "tenon/sdk/collective.h"

namespace tenon::mpi_engine {

// all_reduce, reduce or reduce_scatter in segments. A segment goes in two phases, each of which is
// one message between any two ranks: elements to the rank that combines them, results back. They
// are combined in the order of ranks, so that bits do not depend on how elements are divided. A few
// elements go to all ranks, each of which combines them: one phase.
class Exchange {
 public:
  struct Reduction {
    int32_t operation, reduction;
    int root;
    sdk::CollectiveBuffer in, out;
    MPI_Datatype type;
    MPI_Op op;
  };
  // Whether it is faster than MPI's own for so many bytes of a rank's elements.
  static bool serves(int32_t operation, size_t bytes, int size);
  // Begins it. Ranks begin theirs in the same order, one thread at a time.
  Exchange(Communicator& group, const Reduction& what);
  ~Exchange();
  Exchange(const Exchange&) = delete;

  // Asks MPI and goes on. True: it is done or has failed, and MPI uses the buffers no more.
  bool advance();
  // Takes the receives of one that has failed or is given up back; what was sent ends with its
  // receiver. False: it goes on.
  bool cancel(bool is_given_up);
  const std::string& fault() const { return fault_; }  // also before advance() is true
  uint64_t steps() const { return steps_; }            // grows when something has happened

 private:
  struct Part {
    size_t at, elements;
  };
  enum class Phase { kElements, kResults };

  Part part_of(int rank) const;  // of the segment, in `in`
  char* slot_of(int rank);
  char* result();
  size_t bytes_of(size_t elements) const { return elements * item_; }
  void begin_segment();
  void combine();
  void give_results();
  void receive(int from, char* to, size_t elements);
  void send(int to, const char* from, size_t elements);
  void add(MPI_Request request, std::pair<int, int> expected);
  Messages& messages() { return scratch_.messages; }
  void check(int code, const char* what);
  void look_at(const MPI_Status& status, std::pair<int, int> expected);
  void ask();    // which messages have ended
  void go_on();  // all have

  Communicator& group_;
  const Reduction what_;
  const bool scatters_, whole_;   // whole: elements go to all ranks
  const size_t item_;             // bytes
  const size_t total_, segment_;  // elements, of each rank's part in reduce_scatter
  const size_t message_;          // elements at most
  const int tag_;
  Scratch::Block scratch_;
  Phase phase_ = Phase::kElements;
  size_t at_ = 0, length_ = 0;  // the segment under way
  size_t left_ = 0;
  uint64_t steps_ = 0;
  std::string fault_;
};

}  // namespace tenon::mpi_engine
