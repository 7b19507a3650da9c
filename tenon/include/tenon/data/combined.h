// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Datasets made of others: a part of one, several in a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/data/datasets.h"
#include "tenon/tensor.h"

namespace tenon::data::datasets {

namespace detail {
// The size of a dataset that must have one. ValueError names the caller.
template <class D>
std::size_t size_of(const D& dataset, const char* caller) {
  const auto size = dataset.size();
  TENON_CHECK(size.has_value(), ValueError, caller, ": expected a dataset that knows its size");
  return *size;
}
// The bounds of parts of so many examples each. ValueError unless they add up to `size`.
TENON_API std::vector<std::size_t> bounds_of_parts(const std::vector<std::size_t>& lengths,
                                                   std::size_t size);
// Lengths for shares that add up to 1; what rounding leaves goes to the first parts, one each.
// ValueError for other shares.
TENON_API std::vector<std::size_t> lengths_of_shares(const std::vector<double>& shares,
                                                     std::size_t size);
TENON_API std::vector<std::size_t> permutation(std::size_t n,
                                               const std::optional<Generator>& generator);
// Which of the parts, whose ends are given, has the example. IndexError past the last.
TENON_API std::size_t part_of(std::size_t index, const std::vector<std::size_t>& ends);

template <class D, class = void>
struct gives_examples : std::false_type {};
template <class D>
struct gives_examples<D, std::void_t<typename D::BatchType::value_type, typename D::SelfType,
                                     typename D::BatchRequestType>>
    : std::bool_constant<
          std::is_same_v<typename D::BatchRequestType, ArrayRef<std::size_t>> &&
          std::is_same_v<typename D::BatchType, std::vector<typename D::BatchType::value_type>>> {};
}  // namespace detail

// The examples of a dataset at these indices, in this order.
template <class D>
class Subset : public BatchDataset<Subset<D>, typename D::BatchType> {
 public:
  // IndexError for an index that the dataset does not have, if it knows its size.
  Subset(D dataset, std::vector<std::size_t> indices)
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {
    const auto size = dataset_.size();
    for (std::size_t i : indices_) {
      TENON_CHECK(!size || i < *size, IndexError, "Subset: index ", i,
                  " is out of range for a dataset of ", *size, " examples");
    }
  }
  typename D::BatchType get_batch(ArrayRef<std::size_t> request) override {
    std::vector<std::size_t> inner;
    inner.reserve(request.size());
    for (std::size_t i : request) {
      TENON_CHECK(i < indices_.size(), IndexError, "Subset: index ", i,
                  " is out of range for a subset of ", indices_.size(), " examples");
      inner.push_back(indices_[i]);
    }
    return dataset_.get_batch(inner);
  }
  std::optional<std::size_t> size() const override { return indices_.size(); }
  const D& dataset() const noexcept { return dataset_; }
  const std::vector<std::size_t>& indices() const noexcept { return indices_; }

 private:
  D dataset_;
  std::vector<std::size_t> indices_;
};

// Cuts a dataset into random parts without overlap. Each part has a copy of the dataset. The
// permutation comes from the generator, by default the CPU's. ValueError unless the lengths add up
// to the size of the dataset, or shares to 1.
template <class D>
std::vector<Subset<D>> random_split(const D& dataset, const std::vector<std::size_t>& lengths,
                                    const std::optional<Generator>& generator = std::nullopt) {
  const std::size_t size = detail::size_of(dataset, "random_split");
  const auto bounds = detail::bounds_of_parts(lengths, size);
  const auto order = detail::permutation(size, generator);
  std::vector<Subset<D>> out;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(bounds[k]);
    out.emplace_back(
        dataset, std::vector<std::size_t>(begin, begin + static_cast<std::ptrdiff_t>(lengths[k])));
  }
  return out;
}
template <class D>
std::vector<Subset<D>> random_split(const D& dataset, const std::vector<double>& shares,
                                    const std::optional<Generator>& generator = std::nullopt) {
  const std::size_t size = detail::size_of(dataset, "random_split");
  return random_split(dataset, detail::lengths_of_shares(shares, size), generator);
}

// Datasets, of any classes with one kind of example, in a row. ValueError: no dataset,
// or one that does not know its size.
template <class Example>
class ConcatDataset : public BatchDataset<ConcatDataset<Example>, std::vector<Example>> {
 public:
  template <class D>
  explicit ConcatDataset(const std::vector<D>& datasets) {
    for (const D& d : datasets) add(d);
    check_not_empty();
  }
  template <class... D, class = std::enable_if_t<(detail::gives_examples<D>::value && ...)>>
  explicit ConcatDataset(D... datasets) {
    (add(std::move(datasets)), ...);
    check_not_empty();
  }
  ConcatDataset(const ConcatDataset& o) : ends_(o.ends_) {
    for (const auto& part : o.parts_) parts_.push_back(part->copy());
  }
  ConcatDataset& operator=(const ConcatDataset& o) { return *this = ConcatDataset(o); }
  ConcatDataset(ConcatDataset&&) noexcept = default;
  ConcatDataset& operator=(ConcatDataset&&) noexcept = default;

  std::vector<Example> get_batch(ArrayRef<std::size_t> request) override {
    std::vector<Example> out;
    out.reserve(request.size());
    for (std::size_t i = 0; i < request.size();) {
      const std::size_t k = detail::part_of(request[i], ends_);
      const std::size_t start = k == 0 ? 0 : ends_[k - 1];
      std::vector<std::size_t> run;  // of one dataset
      for (; i < request.size() && request[i] >= start && request[i] < ends_[k]; ++i)
        run.push_back(request[i] - start);
      for (Example& e : parts_[k]->get_batch(run)) out.push_back(std::move(e));
    }
    return out;
  }
  std::optional<std::size_t> size() const override { return ends_.back(); }
  // The sum of the sizes up to each dataset.
  const std::vector<std::size_t>& cumulative_sizes() const noexcept { return ends_; }

 private:
  struct Part {
    virtual ~Part() = default;
    virtual std::unique_ptr<Part> copy() const = 0;
    virtual std::vector<Example> get_batch(ArrayRef<std::size_t> request) = 0;
  };
  template <class D>
  struct PartOf final : Part {
    explicit PartOf(D d) : dataset(std::move(d)) {}
    std::unique_ptr<Part> copy() const override { return std::make_unique<PartOf>(dataset); }
    std::vector<Example> get_batch(ArrayRef<std::size_t> request) override {
      return dataset.get_batch(request);
    }
    D dataset;
  };

  template <class D>
  void add(D dataset) {
    const std::size_t size = detail::size_of(dataset, "ConcatDataset");
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + size);
    parts_.push_back(std::make_unique<PartOf<D>>(std::move(dataset)));
  }
  void check_not_empty() const {
    TENON_CHECK(!parts_.empty(), ValueError, "ConcatDataset: expected at least one dataset");
  }

  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::size_t> ends_;
};

// a + b: the examples of a, then those of b.
template <
    class A, class B,
    class = std::enable_if_t<detail::gives_examples<A>::value && detail::gives_examples<B>::value &&
                             std::is_same_v<typename A::BatchType, typename B::BatchType>>>
ConcatDataset<typename A::BatchType::value_type> operator+(A a, B b) {
  return ConcatDataset<typename A::BatchType::value_type>(std::move(a), std::move(b));
}

}  // namespace tenon::data::datasets
