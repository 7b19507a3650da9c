// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samplers say which examples the next batch has. A data loader asks its sampler from one thread
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/archives.h"
#include "tenon/tensor.h"

namespace tenon::data::samplers {

template <class BatchRequest = std::vector<std::size_t>>
class Sampler {
 public:
  using BatchRequestType = BatchRequest;

  virtual ~Sampler() = default;
  // Starts over, before each epoch; with a size, over that many examples.
  virtual void reset(std::optional<std::size_t> new_size) = 0;
  virtual std::optional<BatchRequest> next(std::size_t batch_size) = 0;  // nothing at the end
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

class TENON_API SequentialSampler : public Sampler<> {
 public:
  explicit SequentialSampler(std::size_t size) : size_(size) {}
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  std::size_t index() const noexcept { return index_; }

 private:
  std::size_t size_;
  std::size_t index_ = 0;
};

// A new permutation at each reset, drawn from the default CPU generator.
class TENON_API RandomSampler : public Sampler<> {
 public:
  explicit RandomSampler(int64_t size, ScalarType index_dtype = kLong);
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  std::size_t index() const noexcept { return static_cast<std::size_t>(index_); }

 private:
  Tensor indices_;
  int64_t index_ = 0;
};

// These indices in a new order at each reset.
class TENON_API SubsetRandomSampler : public Sampler<> {
 public:
  explicit SubsetRandomSampler(std::vector<std::size_t> indices);
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;  // ValueError for a size
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  std::size_t index() const noexcept { return at_; }

 private:
  std::vector<std::size_t> indices_, order_;
  std::size_t at_ = 0;
};

// num_samples indices at each reset, drawn with these weights, which need not add up to 1. Without
// replacement an index comes once. Error: no samples; weights that are negative or not finite; too
// few weights above 0 for a draw without replacement.
class TENON_API WeightedRandomSampler : public Sampler<> {
 public:
  WeightedRandomSampler(const std::vector<double>& weights, std::size_t num_samples,
                        bool replacement = true);
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  std::size_t index() const noexcept { return at_; }

 private:
  Tensor weights_;
  std::size_t num_samples_;
  bool replacement_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

// Batches of batch_size indices of another sampler; drop_last leaves out a last one that is
// smaller. A loader that is given one takes its batches as they are, with batch_size 1 and without
// drop_last in its options.
template <class S>
class BatchSampler : public Sampler<typename S::BatchRequestType> {
 public:
  using BatchRequestType = typename S::BatchRequestType;
  static constexpr bool makes_batches = true;

  BatchSampler(S sampler, std::size_t batch_size, bool drop_last = false)
      : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
    TENON_CHECK(batch_size > 0, ValueError, "BatchSampler: batch_size must be positive, got 0");
  }
  void reset(std::optional<std::size_t> new_size = std::nullopt) override {
    sampler_.reset(new_size);
  }
  // The number that the loader asks for is not used.
  std::optional<BatchRequestType> next(std::size_t /*batch_size*/ = 1) override {
    auto batch = sampler_.next(batch_size_);
    if (batch && drop_last_ && batch->size() < batch_size_) return std::nullopt;
    return batch;
  }
  void save(serialize::OutputArchive& archive) const override { sampler_.save(archive); }
  void load(serialize::InputArchive& archive) override { sampler_.load(archive); }

 private:
  S sampler_;
  std::size_t batch_size_;
  bool drop_last_;
};

// What a sampler may ask for beside indices.
struct TENON_API CustomBatchRequest {
  virtual ~CustomBatchRequest();
  virtual std::size_t size() const = 0;  // examples
};

// A count of examples, for datasets that know no indices.
struct TENON_API BatchSize : public CustomBatchRequest {
  explicit BatchSize(std::size_t n) : size_(n) {}
  std::size_t size() const noexcept override { return size_; }
  operator std::size_t() const noexcept { return size_; }

 private:
  std::size_t size_;
};

// The last batch may be smaller; the sum over an epoch is `epoch_size`.
class TENON_API StreamSampler : public Sampler<BatchSize> {
 public:
  explicit StreamSampler(std::size_t epoch_size) : epoch_size_(epoch_size) {}
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<BatchSize> next(std::size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  std::size_t examples_retrieved_so_far_ = 0;
  std::size_t epoch_size_;
};

// A share of equal length for each of `num_replicas`. With duplicates the lists are padded by
// wrapping around, without them the rest is dropped.
template <class BatchRequest = std::vector<std::size_t>>
class DistributedSampler : public Sampler<BatchRequest> {
 public:
  DistributedSampler(std::size_t size, std::size_t num_replicas = 1, std::size_t rank = 0,
                     bool allow_duplicates = true)
      : size_(size), num_replicas_(num_replicas), rank_(rank), allow_duplicates_(allow_duplicates) {
    TENON_CHECK(num_replicas > 0 && rank < num_replicas, ValueError, "DistributedSampler: rank ",
                rank, " is not below num_replicas ", num_replicas);
  }
  void set_epoch(std::size_t epoch) { epoch_ = epoch; }  // all ranks must agree on it
  std::size_t epoch() const { return epoch_; }

 protected:
  std::size_t local_sample_count() {
    return allow_duplicates_ ? (size_ + num_replicas_ - 1) / num_replicas_ : size_ / num_replicas_;
  }

  std::size_t size_, num_replicas_, rank_;
  std::size_t epoch_ = 0;
  bool allow_duplicates_;
};

// Hands out the indices of its share, one after the other.
class TENON_API DistributedIndexSampler : public DistributedSampler<> {
 public:
  using DistributedSampler::DistributedSampler;
  void reset(std::optional<std::size_t> new_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;
  std::size_t index() const noexcept { return sample_index_; }

 protected:
  // Settles the order of all examples and the bounds of the share in it.
  virtual void populate();
  // The examples at n positions of that order, from begin on.
  virtual std::vector<std::size_t> examples(std::size_t begin, std::size_t n) const = 0;

  std::size_t begin_index_ = 0, end_index_ = 0, sample_index_ = 0;
};

// The order depends on the epoch alone, so every rank knows it.
class TENON_API DistributedRandomSampler : public DistributedIndexSampler {
 public:
  DistributedRandomSampler(std::size_t size, std::size_t num_replicas = 1, std::size_t rank = 0,
                           bool allow_duplicates = true);
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 protected:
  void populate() override;
  std::vector<std::size_t> examples(std::size_t begin, std::size_t n) const override;

 private:
  std::vector<std::size_t> all_indices_;
};

// A contiguous share.
class TENON_API DistributedSequentialSampler : public DistributedIndexSampler {
 public:
  DistributedSequentialSampler(std::size_t size, std::size_t num_replicas = 1, std::size_t rank = 0,
                               bool allow_duplicates = true);

 protected:
  std::vector<std::size_t> examples(std::size_t begin, std::size_t n) const override;
};

}  // namespace tenon::data::samplers
