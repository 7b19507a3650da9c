// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Datasets made of others, samplers of parts of them, and what workers know.
#include "tenon/data/combined.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>

#include "tenon/data.h"
#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

using namespace tenon;
using namespace tenon::data;
using datasets::ConcatDataset;
using datasets::random_split;
using datasets::Subset;
using Indices = std::vector<std::size_t>;

namespace {

struct ConsecutiveNumbers : datasets::Dataset<ConsecutiveNumbers, int> {
  ConsecutiveNumbers(int first, std::size_t n) : first(first), n(n) {}
  int get(std::size_t i) override { return first + static_cast<int>(i); }
  std::optional<std::size_t> size() const override { return n; }
  int first;
  std::size_t n;
};
struct Squares : datasets::Dataset<Squares, int> {
  int get(std::size_t i) override { return static_cast<int>(i * i); }
  std::optional<std::size_t> size() const override { return 3; }
};
struct Endless : datasets::Dataset<Endless, int> {
  int get(std::size_t) override { return 1; }
  std::optional<std::size_t> size() const override { return std::nullopt; }
};

template <class D>
std::vector<int> all_items(D& dataset) {
  Indices indices(*dataset.size());
  std::iota(indices.begin(), indices.end(), 0);
  return dataset.get_batch(indices);
}

TEST(Subset, PicksAndChecksIndices) {
  Subset<ConsecutiveNumbers> some(ConsecutiveNumbers(10, 5), {4, 0, 4});
  EXPECT_EQ(all_items(some), (std::vector<int>{14, 10, 14}));
  EXPECT_TEXT(some.get_batch(Indices{3}), "index 3 is out of range for a subset of 3");
  EXPECT_TEXT(Subset<ConsecutiveNumbers>(ConsecutiveNumbers(0, 5), {5}),
              "index 5 is out of range for a dataset of 5");
}

TEST(Subset, OfAMappedDatasetInALoader) {
  const Tensor rows = arange(12, kFloat).reshape({6, 2});
  auto mapped = datasets::TensorDataset(rows).map(transforms::Stack<TensorExample>());
  auto loader = make_data_loader<samplers::SequentialSampler>(
      Subset<decltype(mapped)>(mapped, {5, 1, 3}), DataLoaderOptions(2).workers(2));
  std::vector<Tensor> batches;
  for (auto& b : *loader) batches.push_back(b.data);
  EXPECT_TRUE(cat(batches).equal(rows.index_select(0, tensor({5, 1, 3}))));
}

TEST(RandomSplit, PartsWithoutOverlap) {
  auto parts = random_split(ConsecutiveNumbers(0, 10), Indices{3, 0, 7});
  std::vector<int> together;
  for (auto& p : parts) {
    const auto items = all_items(p);
    together.insert(together.end(), items.begin(), items.end());
  }
  EXPECT_EQ(parts[1].size(), 0u);
  std::sort(together.begin(), together.end());
  std::vector<int> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(together, expected);
  auto a = random_split(ConsecutiveNumbers(0, 10), Indices{5, 5}, make_generator(kCPU, 7));
  auto b = random_split(ConsecutiveNumbers(0, 10), Indices{5, 5}, make_generator(kCPU, 7));
  EXPECT_EQ(a[0].indices(), b[0].indices());
}

TEST(RandomSplit, Shares) {
  auto parts = random_split(ConsecutiveNumbers(0, 10), std::vector<double>{0.33, 0.33, 0.34});
  EXPECT_EQ(*parts[0].size() + *parts[1].size() + *parts[2].size(), 10u);
  EXPECT_EQ(*parts[0].size(), 4u);  // the first gets what rounding leaves
  EXPECT_TEXT(random_split(ConsecutiveNumbers(0, 10), Indices{3, 6}),
              "add up to 9, but the dataset has 10");
  EXPECT_TEXT(random_split(ConsecutiveNumbers(0, 10), std::vector<double>{0.5, 0.4}),
              "add up to 1");
  EXPECT_TEXT(random_split(Endless(), Indices{3}), "knows its size");
}

TEST(ConcatDataset, MapsIndicesAtTheBorders) {
  auto joined = ConsecutiveNumbers(10, 3) + Squares() + ConsecutiveNumbers(50, 2);
  EXPECT_EQ(*joined.size(), 8u);
  EXPECT_EQ(all_items(joined), (std::vector<int>{10, 11, 12, 0, 1, 4, 50, 51}));
  EXPECT_EQ(joined.get_batch(Indices{6, 2, 3, 5, 0}), (std::vector<int>{50, 12, 0, 4, 10}));
  auto copy = joined;
  EXPECT_EQ(all_items(copy), all_items(joined));
  ConcatDataset<int> list(std::vector<ConsecutiveNumbers>{
      ConsecutiveNumbers(0, 2), ConsecutiveNumbers(5, 0), ConsecutiveNumbers(7, 1)});
  EXPECT_EQ(all_items(list), (std::vector<int>{0, 1, 7}));
  EXPECT_EQ(list.cumulative_sizes(), (Indices{2, 2, 3}));
  EXPECT_TEXT(list.get_batch(Indices{3}), "index 3 is out of range for 3");
  EXPECT_TEXT(ConcatDataset<int>(std::vector<ConsecutiveNumbers>{}), "at least one dataset");
  EXPECT_TEXT(Endless() + Squares(), "knows its size");
}

TEST(Samplers, SubsetRandom) {
  samplers::SubsetRandomSampler sampler({7, 3, 9, 4});
  std::set<Indices> orders;
  for (int i = 0; i < 50; ++i) {
    sampler.reset();
    auto all = *sampler.next(10);
    orders.insert(all);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (Indices{3, 4, 7, 9}));
    EXPECT_FALSE(sampler.next(1));
  }
  EXPECT_GT(orders.size(), 10u);
  sampler.reset();
  sampler.next(1);
  std::stringstream file;
  save(sampler, file);
  samplers::SubsetRandomSampler other({7, 3, 9, 4});
  load(other, file);
  EXPECT_EQ(*other.next(9), *sampler.next(9));
}

TEST(Samplers, WeightedRandomHasTheFrequencies) {
  manual_seed(3);
  samplers::WeightedRandomSampler sampler({1, 0, 3}, 20000);
  std::map<std::size_t, int> counts;
  while (auto batch = sampler.next(64)) {
    for (std::size_t i : *batch) ++counts[i];
  }
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 15000, 300);
  samplers::WeightedRandomSampler once({1, 5, 3}, 3, /*replacement=*/false);
  auto drawn = *once.next(3);
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(drawn, (Indices{0, 1, 2}));
  EXPECT_TEXT(samplers::WeightedRandomSampler({1}, 0), "num_samples must be positive");
  EXPECT_THROW(samplers::WeightedRandomSampler({1, -1}, 2), Error);
  EXPECT_THROW(samplers::WeightedRandomSampler({1, 0}, 2, false), Error);
}

TEST(Samplers, BatchSampler) {
  using S = samplers::SequentialSampler;
  samplers::BatchSampler<S> keeps(S(10), 4), drops(S(10), 4, true);
  std::vector<std::size_t> sizes;
  while (auto b = keeps.next()) sizes.push_back(b->size());
  while (auto b = drops.next()) sizes.push_back(b->size());
  EXPECT_EQ(sizes, (Indices{4, 4, 2, 4, 4}));
  auto loader = make_data_loader(ConsecutiveNumbers(0, 10), samplers::BatchSampler<S>(S(10), 4),
                                 DataLoaderOptions().workers(2));
  sizes.clear();
  for (auto& b : *loader) sizes.push_back(b.size());
  EXPECT_EQ(sizes, (Indices{4, 4, 2}));
  EXPECT_TEXT(make_data_loader(ConsecutiveNumbers(0, 10), samplers::BatchSampler<S>(S(10), 4),
                               DataLoaderOptions(2)),
              "excludes the options batch_size and drop_last");
  EXPECT_TEXT(samplers::BatchSampler<S>(S(1), 0), "must be positive");
}

TEST(DataLoader, WorkersKnowWhoTheyAre) {
  struct Asks : datasets::Dataset<Asks, int64_t> {
    int64_t get(std::size_t) override {
      const auto info = get_worker_info();
      return info ? static_cast<int64_t>(info->seed * 100 + info->id * 10 + info->num_workers) : -1;
    }
    std::optional<std::size_t> size() const override { return 200; }
  };
  std::mutex mutex;
  std::set<std::size_t> begun;
  auto loader = make_data_loader<samplers::SequentialSampler>(
      Asks(), DataLoaderOptions(1).workers(3).seed(5).worker_init_fn([&](std::size_t id) {
        const std::lock_guard<std::mutex> lock(mutex);
        begun.insert(id);
      }));
  for (auto& batch : *loader) {
    const int64_t id = batch[0] / 10 % 10;
    EXPECT_EQ(batch[0], (5 + id) * 100 + id * 10 + 3);
  }
  EXPECT_FALSE(begun.empty());
  EXPECT_FALSE(get_worker_info());
  auto alone = make_data_loader<samplers::SequentialSampler>(Asks(), DataLoaderOptions(1));
  EXPECT_EQ((*alone->begin())[0], -1);
}

TEST(DataLoader, WorkersLeaveTheGeneratorAsItWas) {
  manual_seed(3);
  const Tensor expected = rand({4});
  manual_seed(3);
  const auto loader = make_data_loader<samplers::SequentialSampler>(
      datasets::TensorDataset(arange(6, kFloat)), DataLoaderOptions(2).workers(2));
  EXPECT_TRUE(rand({4}).equal(expected));
}

TEST(DataLoader, PinsWhereADeviceCan) {
  auto loader = make_data_loader<samplers::SequentialSampler>(
      datasets::TensorDataset(arange(6, kFloat)), DataLoaderOptions(4).pin_memory(true));
  std::vector<float> values;
  for (auto& batch : *loader) {
    for (auto& example : batch) {
      EXPECT_EQ(example.data.is_pinned(), empty({1}).pin_memory().is_pinned());
      values.push_back(example.data.item<float>());
    }
  }
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(DataLoader, FindsTheTensorsOfABatch) {
  const Tensor one = ones({1});
  data::Example<std::vector<Tensor>, Tensor> example{{one, one}, one};
  std::vector<data::Example<Tensor, void>> list(2, {one});
  int n = 0;
  const auto count = [&](Tensor& t) { n += t.is_same(one); };
  data::detail::each_tensor(example, count);
  EXPECT_EQ(n, 3);
  data::detail::each_tensor(list, count);
  EXPECT_EQ(n, 5);
}

TEST(DataLoader, BatchesMayBeAskedForOnTheHost) {
  auto loader = make_data_loader<samplers::SequentialSampler>(
      datasets::TensorDataset(arange(6, kFloat)).map(transforms::Stack<data::TensorExample>()),
      DataLoaderOptions(4).workers(2).device(Device(kCPU)));
  std::vector<int64_t> sizes;
  for (auto& batch : *loader) {
    EXPECT_TRUE(batch.data.is_cpu());
    sizes.push_back(batch.data.size(0));
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 2}));
}

}  // namespace
