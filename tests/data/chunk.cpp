// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/chunk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "tenon/data.h"
#include "tenon/serialize.h"
#include "tests/support.h"

using namespace tenon;
using namespace tenon::data;
using datasets::ChunkDataset;
using datasets::ChunkDatasetOptions;
using samplers::RandomSampler;
using samplers::SequentialSampler;
using test::expect_words;
using test::text_of;

namespace {

using Ints = std::vector<int>;

// Chunk i has i + 1 examples: 0, 1 2, 3 4 5, ...; one of them may be broken.
struct Triangle : public datasets::ChunkDataReader<int> {
  explicit Triangle(std::size_t n, std::size_t bad = 1000) : count(n), broken(bad) {}
  Ints read_chunk(std::size_t i) override {
    if (i == broken) throw std::out_of_range("chunk is broken");
    Ints out(i + 1);
    std::iota(out.begin(), out.end(), static_cast<int>(i * (i + 1) / 2));
    return out;
  }
  std::size_t chunk_count() override { return count; }
  void reset() override {}
  std::size_t count, broken;
};

template <class Chunks, class Examples>
using Set = ChunkDataset<Triangle, Chunks, Examples>;

template <class Chunks = SequentialSampler, class Examples = SequentialSampler>
auto make(Triangle reader, ChunkDatasetOptions options) {
  return datasets::make_shared_dataset<Set<Chunks, Examples>>(reader, Chunks(0), Examples(0),
                                                              options);
}

template <class Loader>
std::vector<Ints> epoch(Loader& loader) {
  return {loader.begin(), loader.end()};
}

TEST(Chunks, BatchesGoAcrossChunks) {
  auto loader = make_data_loader(make(Triangle(4), ChunkDatasetOptions(1, 4)), 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(epoch(*loader), (std::vector<Ints>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  }
}

TEST(Chunks, EveryExampleComesOnceWithManyThreads) {
  for (const std::size_t cache : {std::size_t{7}, std::size_t{2048}}) {
    auto set =
        make<RandomSampler, RandomSampler>(Triangle(20), ChunkDatasetOptions(3, 7, cache, 2));
    auto loader = make_data_loader(set, DataLoaderOptions(7).workers(2));
    for (int i = 0; i < 3; ++i) {
      Ints all, expected(210);
      for (const Ints& batch : *loader) {
        EXPECT_EQ(batch.size(), 7u);
        all.insert(all.end(), batch.begin(), batch.end());
      }
      std::sort(all.begin(), all.end());
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected);
    }
  }
}

// What was read before stays in order, the epoch goes on after the exception.
TEST(Chunks, AnExceptionOfAReaderComesOut) {
  auto set = make(Triangle(4, 2), ChunkDatasetOptions(1, 2));
  set.reset();
  EXPECT_EQ(set->get_batch(2).value(), (Ints{0, 1}));
  EXPECT_EQ(set->get_batch(2).value(), (Ints{2}));
  expect_words(text_of<WorkerException>([&] { set->get_batch(2); }), {"chunk is broken"});
  EXPECT_EQ(set->get_batch(2).value(), (Ints{6, 7}));
  EXPECT_EQ(set->get_batch(2).value(), (Ints{8, 9}));
  EXPECT_FALSE(set->get_batch(2).has_value());
}

TEST(Chunks, APolicyChangesChunks) {
  const auto reversed = [](Ints& chunk) { std::reverse(chunk.begin(), chunk.end()); };
  auto set = datasets::make_shared_dataset<Set<SequentialSampler, SequentialSampler>>(
      Triangle(3), SequentialSampler(0), SequentialSampler(0), ChunkDatasetOptions(1, 3), reversed);
  auto loader = make_data_loader(set, 3);
  EXPECT_EQ(epoch(*loader), (std::vector<Ints>{{0, 2, 1}, {5, 4, 3}}));
}

// The file has the position among the chunks; the first epoch after it goes on from there.
TEST(Chunks, ALoadedPositionIsGoneOnFrom) {
  SequentialSampler position(4);
  position.next(2);
  std::stringstream file;
  save(position, file);
  auto set = datasets::make_shared_dataset<Set<SequentialSampler, SequentialSampler>>(
      Triangle(4), SequentialSampler(4), SequentialSampler(0), ChunkDatasetOptions(1, 10));
  load(*set, file);
  auto loader = make_data_loader(set, 10);
  EXPECT_EQ(epoch(*loader), (std::vector<Ints>{{3, 4, 5, 6, 7, 8, 9}}));
  EXPECT_EQ(epoch(*loader), (std::vector<Ints>{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}));
}

TEST(Chunks, EndsWhileReadersWait) {
  auto set = make(Triangle(30), ChunkDatasetOptions(2, 5, 5));
  set.reset();
  EXPECT_EQ(set->get_batch()->size(), 5u);
}

TEST(Chunks, RefusesBadSizes) {
  expect_words(text_of<ValueError>([] { ChunkDatasetOptions(0, 1); }), {"Preloader count is 0"});
  expect_words(text_of<ValueError>([] { ChunkDatasetOptions(1, 10, 5); }),
               {"Cache size is less than batch size"});
  auto set = make(Triangle(2), ChunkDatasetOptions(1, 5));
  expect_words(text_of<ValueError>([&] { set->get_batch(5); }), {"needs to call reset()"});
  set.reset();
  expect_words(text_of<ValueError>([&] { set->get_batch(6); }),
               {"requested batch size is 6", "batch size equal to 5"});
}

}  // namespace
