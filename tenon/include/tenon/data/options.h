// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How a data loader batches and how many threads help it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tenon/arg.h"
#include "tenon/function_ref.h"
#include "tenon/runtime/device.h"

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
  // Host tensors of batches lie in memory from which copies to a device can overlap with work.
  // They stay as they are where no device can pin memory.
  TENON_ARG(bool, pin_memory) = false;
  // Batches come on this device. While one is used, the next is read, pinned and copied on a stream
  // of its own, so that copies overlap with work. Without an index, the type's current device.
  TENON_ARG(std::optional<Device>, device);
  // Called in each worker, with its number, before it reads; worker.h says what it can ask. An
  // exception is that of the first batch.
  TENON_ARG(SharedFunction<void(std::size_t)>, worker_init_fn);
  // Worker i has the seed seed + i; by default what the CPU's generator draws
  // next, which stays as it is.
  TENON_ARG(std::optional<uint64_t>, seed);
};

struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(DataLoaderOptions options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs().value_or(2 * workers)),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()),
        pin_memory(options.pin_memory() || (options.device() && !options.device()->is_cpu())),
        device(options.device()),
        worker_init_fn(options.worker_init_fn()),
        seed(options.seed()) {}

  std::size_t batch_size, workers, max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering, drop_last, pin_memory;
  std::optional<Device> device;
  SharedFunction<void(std::size_t)> worker_init_fn;
  std::optional<uint64_t> seed;
};

}  // namespace tenon::data
