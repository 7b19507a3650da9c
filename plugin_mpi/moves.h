// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "plugin_mpi/messages.h"
#include "tenon/sdk/collective.h"

namespace tenon::mpi_engine {

// broadcast, all_gather, gather, scatter and all_to_all: a message from each rank to each that
// wants its elements. A broadcast to many goes down a tree, in segments. A barrier is rounds of
// messages to the ranks that are 1, 2, 4, ... further on.
class Moves final : public Messages {
 public:
  Moves(Communicator& group, const tn_collective_call& call, MPI_Datatype type);

 private:
  using Buffer = sdk::CollectiveBuffer;
  struct Part {
    size_t at, elements;
  };
  bool go_on() override;
  bool broadcast();
  bool meet();
  bool is_from_root() const;
  void receive_segment();
  void send_segment();
  void move_parts();
  Part sent_to(int rank) const;
  Part received_from(int rank) const;

  const Buffer in_, out_;
  const int32_t operation_;
  const int root_;
  std::vector<Part> to_, from_;  // of all_to_all
  size_t at_ = 0, length_ = 0;   // the segment of a broadcast
  bool has_segment_ = false, begun_ = false;
  int distance_ = 1;  // of a barrier's round
  char nothing_[2] = {};
};

}  // namespace tenon::mpi_engine
