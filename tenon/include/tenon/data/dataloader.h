// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Data loaders: batches of a dataset in a sampler's order, read ahead by worker threads.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "tenon/data/datasets.h"
#include "tenon/data/device_batches.h"
#include "tenon/data/iterator.h"
#include "tenon/data/options.h"
#include "tenon/data/pipeline.h"
#include "tenon/data/samplers.h"
#include "tenon/data/worker.h"

namespace tenon::data {

template <class Dataset, class Batch, class BatchRequest>
class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  DataLoaderBase(DataLoaderOptions options, Dataset dataset)
      : options_(options),
        dataset_(std::make_shared<Dataset>(std::move(dataset))),
        pipeline_(options_),
        on_device_(options_.device) {
    TENON_CHECK(options_.batch_size > 0, ValueError,
                "make_data_loader: batch_size must be positive");
    TENON_CHECK(options_.workers == 0 || options_.max_jobs > 0, ValueError,
                "make_data_loader: max_jobs must be positive when there are workers");
    const uint64_t seed =
        options_.workers == 0 || options_.seed ? options_.seed.value_or(0) : detail::draw_seed();
    for (std::size_t i = 0; i < options_.workers; ++i) add_worker({i, options_.workers, seed + i});
  }
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;
  virtual ~DataLoaderBase() { join(); }

  // Begins an epoch. One iteration at a time: an earlier one must have reached its end.
  Iterator<Batch> begin() {
    TENON_CHECK(
        pipeline_.in_flight() == 0, ValueError,
        "Attempted to get a new DataLoader iterator while another iterator is not yet exhausted");
    reset();
    return Iterator<Batch>([this] { return on_device_.next([this] { return next(); }); });
  }
  Iterator<Batch> end() { return {}; }
  void join() { pipeline_.stop(); }
  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  virtual std::optional<BatchRequest> get_batch_request() = 0;
  virtual void reset() {
    on_device_.reset();
    pipeline_.drain();
    prefetch(options_.max_jobs);
  }

  const FullDataLoaderOptions options_;
  // Read by the calling thread without workers, and by all workers if stateful; else each worker
  // has a copy.
  std::shared_ptr<Dataset> dataset_;
  detail::Pipeline pipeline_;
  detail::DeviceBatches<Batch> on_device_;

 private:
  void add_worker(WorkerInfo info) {
    auto own = Dataset::is_stateful ? dataset_ : std::make_shared<Dataset>(*dataset_);
    bool first = true;
    const auto init = options_.worker_init_fn;
    const bool pin = options_.pin_memory;
    pipeline_.add_worker([own, info, init, pin,
                          first](std::shared_ptr<void> request) mutable -> std::shared_ptr<void> {
      if (first) {
        detail::set_worker_info(&info);
        first = false;
        if (init) init(info.id);
      }
      return std::make_shared<std::optional<Batch>>(
          read(*own, std::move(*static_cast<BatchRequest*>(request.get())), pin));
    });
  }

  static std::optional<Batch> read(Dataset& dataset, BatchRequest request, bool pin) {
    std::optional<Batch> batch = dataset.get_batch(std::move(request));
    if (pin && batch) detail::each_tensor(*batch, [](Tensor& t) { t = detail::pinned(t); });
    return batch;
  }

  void prefetch(std::size_t jobs) {
    if (options_.workers == 0) return;
    for (std::size_t i = 0; i < jobs; ++i) {
      auto request = get_batch_request();
      if (!request) return;
      pipeline_.push(std::make_shared<BatchRequest>(std::move(*request)));
    }
  }

  std::optional<Batch> next() {
    if (options_.workers == 0) {
      auto request = get_batch_request();
      if (!request) return std::nullopt;
      return read(*dataset_, std::move(*request), options_.pin_memory);
    }
    // A stateful dataset that is exhausted gives empty results; batches may still follow.
    while (auto result = pop()) {
      auto& batch = *static_cast<std::optional<Batch>*>(result.get());
      if (!batch) continue;
      prefetch(1);
      return std::move(batch);
    }
    return std::nullopt;
  }

  std::shared_ptr<void> pop() {
    try {
      return pipeline_.pop();
    } catch (const WorkerException&) {
      prefetch(1);  // the epoch can continue after the broken batch
      throw;
    }
  }
};

namespace detail {
template <class S, class = void>
struct makes_batches : std::false_type {};
template <class S>
struct makes_batches<S, std::void_t<decltype(S::makes_batches)>> : std::true_type {};
}  // namespace detail

// For datasets that answer indices.
template <class Dataset, class Sampler>
class StatelessDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType,
                                                  typename Sampler::BatchRequestType> {
 public:
  using super =
      DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename super::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : super(options, std::move(dataset)), sampler_(std::move(sampler)) {
    TENON_CHECK(!detail::makes_batches<Sampler>::value ||
                    (options.batch_size() == 1 && !options.drop_last()),
                ValueError,
                "make_data_loader: a sampler of batches excludes the options batch_size and "
                "drop_last");
  }
  ~StatelessDataLoader() override { this->join(); }

 private:
  void reset() override {
    sampler_.reset(std::nullopt);
    super::reset();
  }
  std::optional<BatchRequestType> get_batch_request() override {
    auto request = sampler_.next(this->options_.batch_size);
    if (!request || (this->options_.drop_last && request->size() < this->options_.batch_size))
      return std::nullopt;
    return request;
  }

  Sampler sampler_;
};

// For datasets that keep their own position and end by returning nothing.
template <class Dataset>
class StatefulDataLoader : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type,
                                                 typename Dataset::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type,
                               typename Dataset::BatchRequestType>;
  using typename super::BatchRequestType;

  StatefulDataLoader(Dataset dataset, DataLoaderOptions options)
      : super(options, std::move(dataset)) {}
  ~StatefulDataLoader() override { this->join(); }

 private:
  void reset() override {
    this->pipeline_.drain();  // before the dataset goes back to its start
    this->dataset_->reset();
    super::reset();
  }
  std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

template <class Dataset, class Sampler, class = typename Sampler::BatchRequestType>
std::enable_if_t<!Dataset::is_stateful, std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>>
make_data_loader(Dataset dataset, Sampler sampler, DataLoaderOptions options) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset),
                                                                 std::move(sampler), options);
}

template <class Sampler = samplers::RandomSampler, class Dataset>
std::enable_if_t<!Dataset::is_stateful && std::is_constructible_v<Sampler, std::size_t>,
                 std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>>
make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  auto size = dataset.size();
  TENON_CHECK(
      size.has_value(), ValueError,
      "Expected the dataset to be sized in order to construct the Sampler; pass a sampler instead");
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), Sampler(*size),
                                                                 options);
}

template <class Dataset>
std::enable_if_t<Dataset::is_stateful, std::unique_ptr<StatefulDataLoader<Dataset>>>
make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace tenon::data
