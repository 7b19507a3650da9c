// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Jobs from one thread to workers, and their results back.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "tenon/data/detail/queue.h"

namespace tenon::data::detail {

// push_job, pop_result and drain are for one thread, pop_job and push_result for workers.
template <class Job, class Result>
class DataShuttle {
 public:
  void push_job(Job job) {
    new_jobs_.push(std::move(job));
    ++in_flight_jobs_;
  }
  Job pop_job() { return new_jobs_.pop(); }  // waits
  void push_result(Result result) { results_.push(std::move(result)); }

  // Waits for a result; nothing if no job is in flight. Error after `timeout`.
  std::optional<Result> pop_result(
      std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
    if (in_flight_jobs_ == 0) return std::nullopt;
    Result result = results_.pop(timeout);
    --in_flight_jobs_;
    return result;
  }

  // Forgets jobs that no worker has taken, waits for the others and forgets all results.
  void drain() {
    in_flight_jobs_ -= new_jobs_.clear();
    while (in_flight_jobs_ > 0) pop_result();
  }
  std::size_t in_flight_jobs() const noexcept { return in_flight_jobs_; }

 private:
  Queue<Job> new_jobs_;
  std::size_t in_flight_jobs_ = 0;
  Queue<Result> results_;
};

}  // namespace tenon::data::detail
