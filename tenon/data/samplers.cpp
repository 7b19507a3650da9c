// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/samplers.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "tenon/ops.h"
#include "tenon/serialize.h"

namespace tenon::data::samplers {
namespace {

void save_index(serialize::OutputArchive& archive, const char* key, std::size_t value) {
  archive.write(key, tensor(static_cast<int64_t>(value), kLong), /*is_buffer=*/true);
}

std::size_t load_index(serialize::InputArchive& archive, const char* key) {
  Tensor t;
  archive.read(key, t, /*is_buffer=*/true);
  TENON_CHECK(t.numel() == 1 && isIntegralType(t.scalar_type()) && t.item<int64_t>() >= 0,
              ValueError, "load: '", key, "' of a sampler is not one non-negative integer");
  return static_cast<std::size_t>(t.item<int64_t>());
}

void save_order(serialize::OutputArchive& archive, const std::vector<std::size_t>& order,
                std::size_t at) {
  save_index(archive, "index", at);
  const std::vector<int64_t> indices(order.begin(), order.end());
  archive.write("indices", tensor(indices, kLong), /*is_buffer=*/true);
}

std::size_t load_order(serialize::InputArchive& archive, std::vector<std::size_t>* order) {
  Tensor t;
  archive.read("indices", t, /*is_buffer=*/true);
  TENON_CHECK(t.dim() == 1 && t.scalar_type() == kLong && t.ge(0).all().item<bool>(), ValueError,
              "load: 'indices' of a sampler is not a list of non-negative integers");
  const std::size_t at = load_index(archive, "index");
  t = t.contiguous();
  const auto* indices = t.const_data_ptr<int64_t>();
  order->assign(indices, indices + t.numel());
  TENON_CHECK(at <= order->size(), ValueError, "load: a sampler at ", at, " of ", order->size(),
              " indices");
  return at;
}

// The next indices of an order, nothing at its end.
std::optional<std::vector<std::size_t>> take(const std::vector<std::size_t>& order, std::size_t* at,
                                             std::size_t batch_size) {
  const std::size_t n = std::min(batch_size, order.size() - *at);
  if (n == 0) return std::nullopt;
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(*at);
  *at += n;
  return std::vector<std::size_t>(begin, begin + static_cast<std::ptrdiff_t>(n));
}

std::vector<std::size_t> range(std::size_t begin, std::size_t n) {
  std::vector<std::size_t> out(n);
  std::iota(out.begin(), out.end(), begin);
  return out;
}

}  // namespace

CustomBatchRequest::~CustomBatchRequest() = default;

SubsetRandomSampler::SubsetRandomSampler(std::vector<std::size_t> indices)
    : indices_(std::move(indices)) {
  reset();
}
void SubsetRandomSampler::reset(std::optional<std::size_t> new_size) {
  TENON_CHECK(!new_size || *new_size == indices_.size(), ValueError, "SubsetRandomSampler: has ",
              indices_.size(), " indices and cannot have ", *new_size);
  const Tensor order = randperm(static_cast<int64_t>(indices_.size()), kLong);
  const auto* at = order.const_data_ptr<int64_t>();
  order_.clear();
  for (std::size_t i = 0; i < indices_.size(); ++i)
    order_.push_back(indices_[static_cast<std::size_t>(at[i])]);
  at_ = 0;
}
std::optional<std::vector<std::size_t>> SubsetRandomSampler::next(std::size_t batch_size) {
  return take(order_, &at_, batch_size);
}
void SubsetRandomSampler::save(serialize::OutputArchive& archive) const {
  save_order(archive, order_, at_);
}
void SubsetRandomSampler::load(serialize::InputArchive& archive) {
  at_ = load_order(archive, &order_);
}

WeightedRandomSampler::WeightedRandomSampler(const std::vector<double>& weights,
                                             std::size_t num_samples, bool replacement)
    : weights_(tensor(weights, kDouble)), num_samples_(num_samples), replacement_(replacement) {
  TENON_CHECK(num_samples > 0, ValueError,
              "WeightedRandomSampler: num_samples must be positive, got 0");
  reset();
}
void WeightedRandomSampler::reset(std::optional<std::size_t> new_size) {
  const std::size_t n = new_size.value_or(num_samples_);
  const Tensor drawn = multinomial(weights_, static_cast<int64_t>(n), replacement_);
  const auto* at = drawn.const_data_ptr<int64_t>();
  order_.assign(at, at + drawn.numel());
  num_samples_ = n;
  at_ = 0;
}
std::optional<std::vector<std::size_t>> WeightedRandomSampler::next(std::size_t batch_size) {
  return take(order_, &at_, batch_size);
}
void WeightedRandomSampler::save(serialize::OutputArchive& archive) const {
  save_order(archive, order_, at_);
}
void WeightedRandomSampler::load(serialize::InputArchive& archive) {
  at_ = load_order(archive, &order_);
}

void SequentialSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) size_ = *new_size;
  index_ = 0;
}
std::optional<std::vector<std::size_t>> SequentialSampler::next(std::size_t batch_size) {
  const std::size_t n = index_ < size_ ? std::min(batch_size, size_ - index_) : 0;
  if (n == 0) return std::nullopt;
  index_ += n;
  return range(index_ - n, n);
}
void SequentialSampler::save(serialize::OutputArchive& archive) const {
  save_index(archive, "index", index_);
}
void SequentialSampler::load(serialize::InputArchive& archive) {
  index_ = load_index(archive, "index");
}

RandomSampler::RandomSampler(int64_t size, ScalarType index_dtype)
    : indices_(randperm(size, index_dtype)) {}
void RandomSampler::reset(std::optional<std::size_t> new_size) {
  int64_t n = new_size ? static_cast<int64_t>(*new_size) : indices_.numel();
  indices_ = randperm(n, indices_.scalar_type());
  index_ = 0;
}
std::optional<std::vector<std::size_t>> RandomSampler::next(std::size_t batch_size) {
  int64_t n = std::min(static_cast<int64_t>(batch_size), indices_.numel() - index_);
  if (n <= 0) return std::nullopt;
  Tensor slice = indices_.narrow(0, index_, n).to(kLong);
  const int64_t* p = slice.const_data_ptr<int64_t>();
  index_ += n;
  return std::vector<std::size_t>(p, p + n);
}
void RandomSampler::save(serialize::OutputArchive& archive) const {
  save_index(archive, "index", index());
  archive.write("indices", indices_, /*is_buffer=*/true);
}
void RandomSampler::load(serialize::InputArchive& archive) {
  auto index = static_cast<int64_t>(load_index(archive, "index"));
  Tensor indices;
  archive.read("indices", indices, /*is_buffer=*/true);
  TENON_CHECK(indices.dim() == 1 && index <= indices.numel(), ValueError,
              "RandomSampler: saved index ", index, " is past ", indices.numel(), " saved indices");
  // Row-major, as save() writes them, they are no more than the file has.
  TENON_CHECK(isIntegralType(indices.scalar_type()) && indices.is_contiguous(), ValueError,
              "RandomSampler: the saved indices are not a list of integers");
  TENON_CHECK(indices.numel() == 0 || (indices.min().item<int64_t>() >= 0 &&
                                       indices.max().item<int64_t>() < indices.numel()),
              ValueError, "RandomSampler: the saved indices are not those of ", indices.numel(),
              " examples");
  index_ = index;
  indices_ = indices;
}

void StreamSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) epoch_size_ = *new_size;
  examples_retrieved_so_far_ = 0;
}
std::optional<BatchSize> StreamSampler::next(std::size_t batch_size) {
  std::size_t n = std::min(batch_size, epoch_size_ - examples_retrieved_so_far_);
  if (n == 0) return std::nullopt;
  examples_retrieved_so_far_ += n;
  return BatchSize(n);
}
void StreamSampler::save(serialize::OutputArchive& archive) const {
  save_index(archive, "examples_retrieved_so_far", examples_retrieved_so_far_);
}
void StreamSampler::load(serialize::InputArchive& archive) {
  examples_retrieved_so_far_ =
      std::min(load_index(archive, "examples_retrieved_so_far"), epoch_size_);
}

void DistributedIndexSampler::reset(std::optional<std::size_t> new_size) {
  if (new_size) size_ = *new_size;
  populate();
  sample_index_ = begin_index_;
}
void DistributedIndexSampler::populate() {
  const std::size_t local = local_sample_count();
  begin_index_ = rank_ * local;
  end_index_ = size_ > 0 ? begin_index_ + local : begin_index_;
}
std::optional<std::vector<std::size_t>> DistributedIndexSampler::next(std::size_t batch_size) {
  const std::size_t n = std::min(batch_size, end_index_ - sample_index_);
  if (n == 0) return std::nullopt;
  std::vector<std::size_t> out = examples(sample_index_, n);
  sample_index_ += n;
  return out;
}
void DistributedIndexSampler::save(serialize::OutputArchive& archive) const {
  save_index(archive, "sample_index_", sample_index_);
}
void DistributedIndexSampler::load(serialize::InputArchive& archive) {
  sample_index_ = std::clamp(load_index(archive, "sample_index_"), begin_index_, end_index_);
}

DistributedRandomSampler::DistributedRandomSampler(std::size_t size, std::size_t num_replicas,
                                                   std::size_t rank, bool allow_duplicates)
    : DistributedIndexSampler(size, num_replicas, rank, allow_duplicates) {
  reset(size);
}
void DistributedRandomSampler::populate() {
  const std::size_t total = size_ > 0 ? local_sample_count() * num_replicas_ : 0;
  // As libtorch: the first examples fill up, or the last are left out, before the order is drawn.
  all_indices_ = range(0, total);
  for (std::size_t i = size_; i < total; ++i) all_indices_[i] = i % size_;
  // Not std::shuffle: its order depends on the standard library, and ranks may differ in that.
  std::mt19937_64 rng(epoch_);
  for (std::size_t i = total; i > 1; --i) std::swap(all_indices_[i - 1], all_indices_[rng() % i]);
  DistributedIndexSampler::populate();
}
std::vector<std::size_t> DistributedRandomSampler::examples(std::size_t begin,
                                                            std::size_t n) const {
  const auto first = all_indices_.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::vector<std::size_t>(first, first + static_cast<std::ptrdiff_t>(n));
}
void DistributedRandomSampler::save(serialize::OutputArchive& archive) const {
  DistributedIndexSampler::save(archive);
  save_index(archive, "epoch_", epoch_);
}
void DistributedRandomSampler::load(serialize::InputArchive& archive) {
  const std::size_t epoch = load_index(archive, "epoch_"),
                    index = load_index(archive, "sample_index_");
  set_epoch(epoch);
  populate();
  sample_index_ = std::clamp(index, begin_index_, end_index_);
}

DistributedSequentialSampler::DistributedSequentialSampler(std::size_t size,
                                                           std::size_t num_replicas,
                                                           std::size_t rank, bool allow_duplicates)
    : DistributedIndexSampler(size, num_replicas, rank, allow_duplicates) {
  reset(size);
}
std::vector<std::size_t> DistributedSequentialSampler::examples(std::size_t begin,
                                                                std::size_t n) const {
  std::vector<std::size_t> out = range(begin, n);
  for (auto& i : out) i %= size_;
  return out;
}

}  // namespace tenon::data::samplers
