// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Chunks go in, batches come out.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "tenon/data/pipeline.h"
#include "tenon/runtime/error.h"

namespace tenon::data::detail {

// Batches have `batch_size` examples, which come from several chunks if need be; only the last one,
// and one before an exception, has fewer. Borrows the sampler, which orders the examples of each
// chunk, and uses it under its lock.
template <class Batch, class ExampleSampler>
class BatchBuffer {
 public:
  BatchBuffer(std::size_t batch_size, ExampleSampler& example_sampler, std::size_t capacity)
      : batch_size_(batch_size), capacity_(capacity), sampler_(example_sampler) {}

  // Waits until fewer than `capacity` examples are here. After stop() the chunk is dropped.
  void add_chunk(Batch chunk) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return examples_ < capacity_ || stopped_; });
    if (stopped_) return;
    sampler_.reset(chunk.size());
    for (std::size_t left = chunk.size(); left > 0;) {
      if (entries_.empty() || is_closed(entries_.back())) entries_.emplace_back();
      Batch& batch = entries_.back().batch;
      const std::size_t n = std::min(left, batch_size_ - batch.size());
      const auto indices = sampler_.next(n);
      TENON_CHECK(indices && indices->size() == n, ValueError,
                  "ChunkDataset: the example sampler does not give ", n, " indices of ",
                  chunk.size());
      for (const std::size_t i : *indices) batch.emplace_back(std::move(chunk[i]));
      left -= n;
      examples_ += n;
    }
    added_.notify_all();
  }

  void add_exception(std::exception_ptr exception) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return examples_ < capacity_ || stopped_; });
    if (stopped_) return;
    entries_.push_back({Batch(), std::move(exception)});
    examples_ += batch_size_;  // endless failures have a limit, too
    added_.notify_all();
  }

  // Waits for a batch; nothing when the buffer is stopped and empty. Throws a WorkerException.
  std::optional<Batch> get_batch() {
    std::unique_lock lock(mutex_);
    added_.wait(lock, [this] {
      return stopped_ || entries_.size() > 1 || (!entries_.empty() && is_closed(entries_.front()));
    });
    if (entries_.empty()) return std::nullopt;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    examples_ -= entry.exception ? batch_size_ : entry.batch.size();
    lock.unlock();
    taken_.notify_all();
    if (entry.exception) throw WorkerException(entry.exception);
    return std::move(entry.batch);
  }

  // Nothing more comes in; what is here can be taken still.
  void stop() {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    added_.notify_all();
    taken_.notify_all();
  }

 private:
  struct Entry {
    Batch batch;
    std::exception_ptr exception;
  };
  bool is_closed(const Entry& e) const { return e.exception || e.batch.size() >= batch_size_; }

  const std::size_t batch_size_, capacity_;
  ExampleSampler& sampler_;
  // Guards what follows, and the sampler.
  std::mutex mutex_;  // fork: of one dataset, whose threads a child does not have
  std::condition_variable added_, taken_;
  std::deque<Entry> entries_;
  std::size_t examples_ = 0;
  bool stopped_ = false;
};

}  // namespace tenon::data::detail
