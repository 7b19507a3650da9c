// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A rank's membership of a group: a communicator.
#pragma once

#include <memory>
#include <mutex>

#include "plugin_mpi/operation.h"

namespace tenon::mpi_engine {

class Group {
 public:
  explicit Group(const tn_group_options& options);
  ~Group();
  std::shared_ptr<sdk::CollectiveWork> start(const tn_collective_call& call);
  void abort() { group_->aborted = true; }

 private:
  std::shared_ptr<Communicator> group_ = std::make_shared<Communicator>();
  std::mutex starting_;  // works of a communicator are told apart by the order in which they begin
};

}  // namespace tenon::mpi_engine
