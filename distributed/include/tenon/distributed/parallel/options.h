// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tenon/arg.h"
#include "tenon/distributed/parallel/comm_hooks.h"
#include "tenon/distributed/parallel/group.h"

namespace tenon::distributed {

struct TENON_API DistributedDataParallelOptions {
  // The ranks; the default group unless given.
  TENON_ARG(GroupPtr, process_group);
  DistributedDataParallelOptions& process_group(const ProcessGroupPtr& group) {
    return process_group(collectives_of(group));
  }
  // MiB of gradients that are averaged at once. The first bucket, with which communication begins,
  // has at most one.
  TENON_ARG(double, bucket_cap_mb) = 25;
  // Buffers (running averages) become those of rank 0 before each forward in training.
  TENON_ARG(bool, broadcast_buffers) = true;
  // Parameters may take no part in a forward; costs a walk over the graph. Without it, the next
  // forward throws an Error that names those that got no gradient.
  TENON_ARG(bool, find_unused_parameters) = false;
  // The same parameters are used in every iteration, each as often as in the first: allows for
  // unused ones without a walk, and for checkpoints.
  TENON_ARG(bool, static_graph) = false;
  // In the place of averaging.
  TENON_ARG(std::shared_ptr<CommHook>, comm_hook);
};

}  // namespace tenon::distributed
