// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Data that is read in chunks, a file for example: threads read whole chunks ahead and cut them
// into batches. Not part of tenon/data.h, as it brings <thread> and <mutex>.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/arg.h"
#include "tenon/data/datasets.h"
#include "tenon/data/detail/batch_buffer.h"
#include "tenon/data/samplers.h"
#include "tenon/runtime/error.h"

namespace tenon::data::datasets {

// Reads the chunks. A dataset calls read_chunk from all of its preloaders at once.
template <class Example, class Chunk = std::vector<Example>>
class ChunkDataReader {
 public:
  using ChunkType = Chunk;
  using ExampleType = Example;

  virtual ~ChunkDataReader() = default;
  virtual ChunkType read_chunk(std::size_t chunk_index) = 0;
  virtual std::size_t chunk_count() = 0;
  // Starts over, before each epoch.
  virtual void reset() = 0;
};

// ValueError for a count that is zero, and a cache that has no place for a batch.
struct ChunkDatasetOptions {
  ChunkDatasetOptions() = delete;
  ChunkDatasetOptions(std::size_t preloader_count, std::size_t batch_size,
                      std::size_t cache_size = 2048, std::size_t cross_chunk_shuffle_count = 1)
      : preloader_count_(preloader_count),
        batch_size_(batch_size),
        cache_size_(cache_size),
        cross_chunk_shuffle_count_(cross_chunk_shuffle_count) {
    TENON_CHECK(preloader_count_ > 0, ValueError,
                "Preloader count is 0. At least one preloader needs to be specified.");
    TENON_CHECK(batch_size_ > 0, ValueError,
                "Batch size is 0. A positive batch size needs to be specified.");
    TENON_CHECK(cache_size_ > 0, ValueError,
                "Cache size is 0. A positive cache size needs to be specified.");
    TENON_CHECK(cache_size_ >= batch_size_, ValueError,
                "Cache size is less than batch size. Cache needs to be large enough to hold at "
                "least one batch.");
    TENON_CHECK(cross_chunk_shuffle_count_ > 0, ValueError,
                "cross_chunk_shuffle_count needs to be greater than 0.");
  }

  // Threads that read chunks.
  TENON_ARG(std::size_t, preloader_count);
  // Examples in a batch; the last of an epoch may have fewer.
  TENON_ARG(std::size_t, batch_size);
  // Examples in memory from which on no further chunk is added.
  TENON_ARG(std::size_t, cache_size) = 2048;
  // Chunks that are put together before the example sampler orders their examples.
  TENON_ARG(std::size_t, cross_chunk_shuffle_count) = 1;
};

// The chunk sampler orders the chunks of an epoch, the example sampler the examples of each. Wrap
// it by make_shared_dataset and pass that to make_data_loader, whose batch size must be that of the
// options. What a preloader throws comes out of get_batch as a WorkerException.
template <class ChunkReader, class ChunkSampler = samplers::RandomSampler,
          class ExampleSampler = samplers::RandomSampler>
class ChunkDataset final
    : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                             typename ChunkReader::ChunkType, std::size_t> {
 public:
  using UnwrappedBatchType = typename ChunkReader::ChunkType;
  using BatchType = std::optional<UnwrappedBatchType>;
  using BatchRequestType = std::size_t;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;

  // The policy, if given, may change the examples of a chunk before they are ordered.
  ChunkDataset(ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
               ChunkDatasetOptions options,
               std::function<void(UnwrappedBatchType&)> preprocessing_policy = nullptr)
      : chunk_reader_(std::move(chunk_reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(std::move(options)),
        preprocessing_policy_(std::move(preprocessing_policy)) {}
  ~ChunkDataset() override { stop(); }

  // ValueError before reset(), and for a size that is not that of the options.
  BatchType get_batch(std::size_t batch_size) override {
    TENON_CHECK(buffer_ != nullptr, ValueError,
                "Dataset needs to call reset() before calling get_batch().");
    TENON_CHECK(batch_size == options_.batch_size(), ValueError,
                "The requested batch size does not match with the initialized batch size.\n The "
                "requested batch size is ",
                batch_size, ", while the dataset is created with batch size equal to ",
                options_.batch_size());
    return buffer_->get_batch();
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  // Starts over, or where a state that was loaded left off.
  void reset() override {
    stop();
    if (!std::exchange(was_loaded_, false)) {
      chunk_reader_.reset();
      chunk_sampler_.reset(chunk_reader_.chunk_count());
    }
    buffer_ =
        std::make_unique<Buffer>(options_.batch_size(), example_sampler_, options_.cache_size());
    quit_ = false;
    running_ = options_.preloader_count();
    for (std::size_t i = 0; i < options_.preloader_count(); ++i) {
      preloaders_.emplace_back([this] { preload(); });
    }
  }

  std::optional<std::size_t> size() const override { return std::nullopt; }
  // Preloaders use it until the epoch ends.
  ChunkSampler& chunk_sampler() { return chunk_sampler_; }

  // The position among the chunks; batches that were read ahead count as done.
  void save(serialize::OutputArchive& archive) const override {
    std::lock_guard lock(chunk_index_mutex_);
    chunk_sampler_.save(archive);
  }
  void load(serialize::InputArchive& archive) override {
    std::lock_guard lock(chunk_index_mutex_);
    chunk_sampler_.load(archive);
    was_loaded_ = true;
  }

 private:
  using Buffer = data::detail::BatchBuffer<UnwrappedBatchType, ExampleSampler>;

  std::optional<std::vector<std::size_t>> next_chunks() {
    std::lock_guard lock(chunk_index_mutex_);
    return chunk_sampler_.next(options_.cross_chunk_shuffle_count());
  }

  UnwrappedBatchType read(const std::vector<std::size_t>& chunks) {
    UnwrappedBatchType data = chunk_reader_.read_chunk(chunks.front());
    for (std::size_t i = 1; i < chunks.size(); ++i) {
      UnwrappedBatchType more = chunk_reader_.read_chunk(chunks[i]);
      std::move(more.begin(), more.end(), std::back_inserter(data));
    }
    if (preprocessing_policy_) preprocessing_policy_(data);
    return data;
  }

  void preload() {
    while (!quit_) {
      try {
        const auto chunks = next_chunks();
        if (!chunks) break;
        UnwrappedBatchType data = read(*chunks);
        if (!data.empty()) buffer_->add_chunk(std::move(data));
      } catch (...) {
        buffer_->add_exception(std::current_exception());
      }
    }
    if (--running_ == 0) buffer_->stop();
  }

  void stop() {
    quit_ = true;
    if (buffer_) buffer_->stop();
    for (std::thread& t : preloaders_) t.join();
    preloaders_.clear();
  }

  ChunkReader chunk_reader_;
  ChunkSampler chunk_sampler_;      // guarded by chunk_index_mutex_ while preloaders run
  ExampleSampler example_sampler_;  // guarded by the buffer
  const ChunkDatasetOptions options_;
  const std::function<void(UnwrappedBatchType&)> preprocessing_policy_;
  std::unique_ptr<Buffer> buffer_;
  std::vector<std::thread> preloaders_;
  std::atomic<bool> quit_{false};
  std::atomic<std::size_t> running_{0};  // preloaders
  // fork: of one dataset, whose threads a child does not have
  mutable std::mutex chunk_index_mutex_;
  bool was_loaded_ = false;
};

}  // namespace tenon::data::datasets
