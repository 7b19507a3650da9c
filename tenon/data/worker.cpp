// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/worker.h"

#include "tenon/ops.h"

namespace tenon::data {
namespace {
thread_local WorkerInfo* t_worker = nullptr;
}

std::optional<WorkerInfo> get_worker_info() {
  return t_worker ? std::optional<WorkerInfo>(*t_worker) : std::nullopt;
}

namespace detail {

void set_worker_info(WorkerInfo* info) { t_worker = info; }

uint64_t draw_seed() {
  const ForkRng unchanged;
  return static_cast<uint64_t>(randint(INT64_MAX, {1}, kLong).item<int64_t>());
}

Tensor pinned(const Tensor& t) {
  if (!t.defined() || !t.is_cpu() || t.layout() != kStrided) return t;
  const Tensor copy = t.pin_memory();
  return copy.is_pinned() ? copy : t;
}

}  // namespace detail
}  // namespace tenon::data
