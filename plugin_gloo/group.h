// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A rank's membership of a group, and its operations.
#pragma once

#include <atomic>
#include <memory>

#include "plugin_gloo/abortable.h"
#include "plugin_gloo/collectives.h"

namespace tenon::gloo_engine {

class Group {
 public:
  explicit Group(const tn_group_options& options);
  std::shared_ptr<sdk::CollectiveWork> start(const tn_collective_call& call);
  void abort();

 private:
  std::shared_ptr<AbortableContext> context_;
  std::atomic<uint16_t> next_{0};  // more are never under way at once
  std::atomic<bool> aborted_{false};
  sdk::CollectiveQueue queue_;
};

}  // namespace tenon::gloo_engine
