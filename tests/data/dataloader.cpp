// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;
using data::DataLoaderOptions;
using data::make_data_loader;
using data::samplers::SequentialSampler;

namespace {

// Items are their indices; some are slow, one may be broken.
struct Numbers : data::datasets::Dataset<Numbers, int> {
  explicit Numbers(std::size_t n, int broken = -1, int slow_ms = 0)
      : n(n), broken(broken), slow_ms(slow_ms) {}
  int get(std::size_t i) override {
    if (static_cast<int>(i) == broken)
      throw std::out_of_range("item " + std::to_string(i) + " is broken");
    if (slow_ms > 0 && i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
    return static_cast<int>(i);
  }
  std::optional<std::size_t> size() const override { return n; }
  std::size_t n;
  int broken, slow_ms;
};

template <class Loader>
std::vector<int> all(Loader& loader) {
  std::vector<int> out;
  for (auto& batch : loader) out.insert(out.end(), batch.begin(), batch.end());
  return out;
}

std::vector<int> upto(int n) {
  std::vector<int> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(DataLoader, BatchesWithoutWorkers) {
  auto loader = make_data_loader<SequentialSampler>(Numbers(10), DataLoaderOptions(4));
  std::vector<std::size_t> sizes;
  for (auto& batch : *loader) sizes.push_back(batch.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
  EXPECT_EQ(all(*loader), upto(10));
}

TEST(DataLoader, KeepsOrderWithEightWorkers) {
  auto loader =
      make_data_loader<SequentialSampler>(Numbers(101, -1, 2), DataLoaderOptions(3).workers(8));
  for (int epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(all(*loader), upto(101));
}

TEST(DataLoader, WithoutOrderGivesEverything) {
  auto loader = make_data_loader<SequentialSampler>(
      Numbers(50, -1, 1), DataLoaderOptions(3).workers(4).enforce_ordering(false));
  auto got = all(*loader);
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, upto(50));
}

TEST(DataLoader, DropLast) {
  for (std::size_t workers : {0, 2}) {
    auto loader = make_data_loader<SequentialSampler>(
        Numbers(10), DataLoaderOptions(4).workers(workers).drop_last(true));
    EXPECT_EQ(all(*loader), upto(8));
  }
}

TEST(DataLoader, RandomSamplerCoversEverythingEachEpoch) {
  auto loader = make_data_loader(Numbers(30), DataLoaderOptions(7).workers(2));
  auto first = all(*loader), second = all(*loader);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, upto(30));
}

TEST(DataLoader, WorkerExceptionCarriesItsOrigin) {
  auto loader =
      make_data_loader<SequentialSampler>(Numbers(12, 5), DataLoaderOptions(2).workers(3));
  auto it = loader->begin();
  EXPECT_EQ(*it, (std::vector<int>{0, 1}));
  ++it;
  EXPECT_EQ(*it, (std::vector<int>{2, 3}));
  try {
    ++it;
    FAIL();
  } catch (const data::WorkerException& e) {
    EXPECT_NE(std::string(e.what()).find("Original message: item 5 is broken"), std::string::npos)
        << e.what();
    EXPECT_THROW(std::rethrow_exception(e.original_exception), std::out_of_range);
  }
  ++it;  // the epoch continues after the broken batch
  EXPECT_EQ(*it, (std::vector<int>{6, 7}));
}

TEST(DataLoader, ExceptionWithoutWorkersIsItself) {
  auto loader = make_data_loader<SequentialSampler>(Numbers(3, 0), DataLoaderOptions(1));
  EXPECT_THROW(all(*loader), std::out_of_range);
}

TEST(DataLoader, Timeout) {
  auto loader = make_data_loader<SequentialSampler>(
      Numbers(3, -1, 500), DataLoaderOptions(1).workers(1).timeout(std::chrono::milliseconds(10)));
  test::expect_words(test::text_of<Error>([&] { all(*loader); }), {"timeout was 10 ms"});
}

TEST(DataLoader, SecondIteratorWhileOneRunsIsRefused) {
  auto loader = make_data_loader<SequentialSampler>(Numbers(20), DataLoaderOptions(1).workers(2));
  auto it = loader->begin();
  EXPECT_THROW(loader->begin(), ValueError);
}

TEST(DataLoader, BadOptions) {
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(0)), ValueError);
  EXPECT_THROW(make_data_loader(Numbers(3), DataLoaderOptions(1).workers(1).max_jobs(0)),
               ValueError);
}

TEST(DataLoader, PastTheEnd) {
  auto loader = make_data_loader<SequentialSampler>(Numbers(1), DataLoaderOptions(1));
  auto it = loader->begin();
  ++it;
  EXPECT_TRUE(it == loader->end());
  EXPECT_THROW(*it, IndexError);
  EXPECT_THROW(++it, IndexError);
}

struct Countdown : data::datasets::StreamDataset<Countdown, std::optional<std::vector<int>>> {
  explicit Countdown(int n) : n(n), left(n) {}
  std::optional<std::vector<int>> get_batch(std::size_t size) override {
    std::vector<int> out;
    while (out.size() < size) {
      int i = --*counter;
      if (i < 0) break;
      out.push_back(i);
    }
    if (out.empty()) return std::nullopt;
    return out;
  }
  std::optional<std::size_t> size() const override { return std::nullopt; }
  void reset() { *counter = n; }
  int n, left;
  std::shared_ptr<std::atomic<int>> counter = std::make_shared<std::atomic<int>>(0);
};

TEST(DataLoader, StatefulDatasetEndsItself) {
  for (std::size_t workers : {0, 2}) {
    auto loader = make_data_loader(Countdown(10), DataLoaderOptions(3).workers(workers));
    for (int epoch = 0; epoch < 2; ++epoch) {
      auto got = all(*loader);
      std::sort(got.begin(), got.end());
      EXPECT_EQ(got, upto(10)) << workers << " workers";
    }
  }
}

TEST(DataLoader, MappedAndStacked) {
  auto set = data::datasets::TensorDataset(arange(6, kFloat32).view({3, 2}))
                 .map(data::transforms::TensorLambda<data::example::NoTarget>(
                     [](Tensor t) { return t * 2; }))
                 .map(data::transforms::Stack<data::TensorExample>());
  auto loader =
      make_data_loader<SequentialSampler>(std::move(set), DataLoaderOptions(3).workers(1));
  for (auto& batch : *loader)
    EXPECT_TRUE(equal(batch.data, arange(0, 12, 2, kFloat32).view({3, 2})));
}

}  // namespace
