// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Datasets: what a data loader reads from. A dataset is copied once for each worker thread, so a
// copy should be cheap (tensors are handles) and get() must not write to what copies share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/archives.h"
#include "tenon/data/example.h"
#include "tenon/runtime/array_ref.h"

namespace tenon::data::datasets {

template <class Source, class TransformType>
class MapDataset;
template <class D, class T>
MapDataset<D, T> map(D dataset, T transform);

namespace detail {
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
}  // namespace detail

// Gives whole batches. One whose batch type is std::optional is stateful: it ends by returning
// nothing, and has reset().
template <class Self, class Batch = std::vector<Example<>>,
          class BatchRequest = ArrayRef<std::size_t>>
class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;
  static constexpr bool is_stateful = detail::is_optional<BatchType>::value;

  virtual ~BatchDataset() = default;
  virtual Batch get_batch(BatchRequest request) = 0;
  virtual std::optional<std::size_t> size() const = 0;  // nothing: unknown or endless

  template <class TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) & {
    return datasets::map(static_cast<Self&>(*this), std::move(transform));
  }
  template <class TransformType>
  MapDataset<Self, TransformType> map(TransformType transform) && {
    return datasets::map(std::move(static_cast<Self&>(*this)), std::move(transform));
  }
};

// Ends by returning nothing, after which reset() starts over. It keeps its own position, so workers
// share it (SharedBatchDataset) and it guards that position itself.
template <class Self, class Batch = std::vector<Example<>>, class BatchRequest = std::size_t>
class StatefulDataset : public BatchDataset<Self, std::optional<Batch>, BatchRequest> {
 public:
  virtual void reset() = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
};

// Gives single examples by index.
template <class Self, class SingleExample = Example<>>
class Dataset : public BatchDataset<Self, std::vector<SingleExample>> {
 public:
  using ExampleType = SingleExample;

  virtual ExampleType get(std::size_t index) = 0;
  std::vector<ExampleType> get_batch(ArrayRef<std::size_t> indices) override {
    std::vector<ExampleType> batch;
    batch.reserve(indices.size());
    for (std::size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};

template <class Self, class Batch = std::vector<Example<>>>
using StreamDataset = BatchDataset<Self, Batch, std::size_t>;

// A dataset seen through a transform.
template <class Source, class AppliedTransform>
class MapDataset : public BatchDataset<
                       MapDataset<Source, AppliedTransform>,
                       std::conditional_t<Source::is_stateful,
                                          std::optional<typename AppliedTransform::OutputBatchType>,
                                          typename AppliedTransform::OutputBatchType>,
                       typename Source::BatchRequestType> {
 public:
  using DatasetType = Source;
  using TransformType = AppliedTransform;
  using BatchRequestType = typename Source::BatchRequestType;
  using OutputBatchType =
      std::conditional_t<Source::is_stateful,
                         std::optional<typename AppliedTransform::OutputBatchType>,
                         typename AppliedTransform::OutputBatchType>;

  MapDataset(DatasetType dataset, TransformType transform)
      : dataset_(std::move(dataset)), transform_(std::move(transform)) {}

  OutputBatchType get_batch(BatchRequestType request) override {
    if constexpr (Source::is_stateful) {
      auto batch = dataset_.get_batch(std::move(request));
      if (!batch) return std::nullopt;
      return transform_.apply_batch(std::move(*batch));
    } else {
      return transform_.apply_batch(dataset_.get_batch(std::move(request)));
    }
  }
  std::optional<std::size_t> size() const noexcept override { return dataset_.size(); }
  void reset() { dataset_.reset(); }  // of a stateful source
  const Source& dataset() noexcept { return dataset_; }
  const AppliedTransform& transform() noexcept { return transform_; }

 private:
  Source dataset_;
  AppliedTransform transform_;
};

template <class D, class T>
MapDataset<D, T> map(D dataset, T transform) {
  using Given = std::conditional_t<D::is_stateful, detail::is_optional<typename D::BatchType>,
                                   typename D::BatchType>;
  static_assert(D::is_stateful || std::is_same_v<Given, typename T::InputBatchType>,
                "the dataset's BatchType is not what the transform takes");
  return {std::move(dataset), std::move(transform)};
}

// The rows of a tensor.
struct TENON_API TensorDataset : public Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const std::vector<Tensor>& tensors);  // stacked
  explicit TensorDataset(Tensor rows) : tensor(std::move(rows)) {}
  TensorExample get(std::size_t index) override { return tensor[static_cast<int64_t>(index)]; }
  std::optional<std::size_t> size() const override {
    return static_cast<std::size_t>(tensor.size(0));
  }

  Tensor tensor;
};

// Copies share one dataset: workers use it at the same time, so it must be thread-safe.
template <class UnderlyingDataset>
class SharedBatchDataset : public BatchDataset<SharedBatchDataset<UnderlyingDataset>,
                                               typename UnderlyingDataset::BatchType,
                                               typename UnderlyingDataset::BatchRequestType> {
 public:
  using BatchType = typename UnderlyingDataset::BatchType;
  using BatchRequestType = typename UnderlyingDataset::BatchRequestType;

  SharedBatchDataset(std::shared_ptr<UnderlyingDataset> dataset) : dataset_(std::move(dataset)) {}
  BatchType get_batch(BatchRequestType request) override {
    return dataset_->get_batch(std::move(request));
  }
  std::optional<std::size_t> size() const override { return dataset_->size(); }
  UnderlyingDataset& operator*() { return *dataset_; }
  const UnderlyingDataset& operator*() const { return *dataset_; }
  UnderlyingDataset* operator->() { return dataset_.get(); }
  const UnderlyingDataset* operator->() const { return dataset_.get(); }
  void reset() { dataset_->reset(); }

 private:
  std::shared_ptr<UnderlyingDataset> dataset_;
};

template <class UnderlyingDataset, class... Args>
SharedBatchDataset<UnderlyingDataset> make_shared_dataset(Args&&... args) {
  return std::make_shared<UnderlyingDataset>(std::forward<Args>(args)...);
}

// Handwritten digits in LeCun's idx files under `root`: train-images-idx3-ubyte and its three
// siblings, unpacked. Images are float32 [n, 1, rows, cols] from 0 to 1, targets int64 [n].
// ValueError names the file and what is wrong.
class TENON_API MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };

  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);
  Example<> get(std::size_t index) override;
  std::optional<std::size_t> size() const override;
  bool is_train() const noexcept { return mode_ == Mode::kTrain; }
  const Tensor& images() const { return images_; }
  const Tensor& targets() const { return targets_; }

 private:
  Mode mode_;
  Tensor images_, targets_;
};

}  // namespace tenon::data::datasets
