// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How a data loader batches and how many threads help it.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "tenon/arg.h"

namespace tenon::data {

struct DataLoaderOptions {
  DataLoaderOptions() = default;
  DataLoaderOptions(std::size_t batch_size) : batch_size_(batch_size) {}

  // Examples in a batch; the last may have fewer.
  TENON_ARG(std::size_t, batch_size) = 1;
  // Threads that read ahead; with none the calling thread reads.
  TENON_ARG(std::size_t, workers) = 0;
  // Batches in flight at most; twice the workers unless set.
  TENON_ARG(std::optional<std::size_t>, max_jobs);
  // How long to wait for a worker before an Error; without limit unless set.
  TENON_ARG(std::optional<std::chrono::milliseconds>, timeout);
  // Batches come in the sampler's order; else as they are ready.
  TENON_ARG(bool, enforce_ordering) = true;
  // Drops a last batch of fewer than batch_size examples.
  TENON_ARG(bool, drop_last) = false;
};

struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(DataLoaderOptions options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs().value_or(2 * workers)),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()) {}

  std::size_t batch_size, workers, max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering, drop_last;
};

}  // namespace tenon::data
