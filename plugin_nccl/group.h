// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A rank's membership of a group: a communicator of NCCL.
#pragma once

#include <memory>

#include "plugin_nccl/communicator.h"

namespace tenon::nccl_engine {

class Group {
 public:
  explicit Group(const tn_group_options& options) : communicator_(options) {}
  std::shared_ptr<sdk::CollectiveWork> start(const tn_collective_call& call);
  void abort() { communicator_.abort("the group was aborted"); }

 private:
  Communicator communicator_;
};

}  // namespace tenon::nccl_engine
