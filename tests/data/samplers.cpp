// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/data/samplers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tenon/ops.h"
#include "tenon/serialize.h"

using namespace tenon;
using namespace tenon::data::samplers;
using Indices = std::vector<std::size_t>;

namespace {

template <class S>
Indices rest(S& sampler, std::size_t batch = 3) {
  Indices out;
  while (auto b = sampler.next(batch)) out.insert(out.end(), b->begin(), b->end());
  return out;
}

template <class S>
void copy_state(const S& from, S& to) {
  std::stringstream file;
  save(from, file);
  load(to, file);
}

TEST(Samplers, Sequential) {
  SequentialSampler s(5);
  EXPECT_EQ(*s.next(2), (Indices{0, 1}));
  EXPECT_EQ(s.index(), 2u);
  EXPECT_EQ(rest(s), (Indices{2, 3, 4}));
  EXPECT_FALSE(s.next(1));
  s.reset(2);
  EXPECT_EQ(rest(s), (Indices{0, 1}));
}

TEST(Samplers, RandomIsAPermutationSeededByTheGenerator) {
  manual_seed(3);
  RandomSampler a(40);
  auto first = rest(a);
  manual_seed(3);
  RandomSampler b(40);
  EXPECT_EQ(first, rest(b));
  EXPECT_EQ(std::set<std::size_t>(first.begin(), first.end()).size(), 40u);
  a.reset();
  EXPECT_NE(first, rest(a));
  a.reset(3);
  EXPECT_EQ(rest(a).size(), 3u);
}

// As libtorch: the first examples fill up before the order is drawn, or the last are left out.
TEST(Samplers, RanksShareOutTheSameExamplesAsInLibtorch) {
  const auto all = [](std::size_t size, std::size_t replicas, bool duplicates) {
    std::vector<std::size_t> out;
    for (std::size_t rank = 0; rank < replicas; ++rank) {
      DistributedRandomSampler s(size, replicas, rank, duplicates);
      for (auto i : rest(s)) out.push_back(i);
    }
    std::sort(out.begin(), out.end());
    return out;
  };
  using Indices = std::vector<std::size_t>;
  EXPECT_EQ(all(10, 3, true), (Indices{0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(all(10, 3, false), (Indices{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(all(2, 5, true), (Indices{0, 0, 0, 1, 1}));
  EXPECT_EQ(all(2, 5, false), Indices());
  EXPECT_EQ(all(0, 3, true), Indices());
}

TEST(Samplers, ARefusedFileChangesNothing) {
  const auto archive = [](const std::vector<std::pair<const char*, Tensor>>& entries) {
    serialize::OutputArchive out;
    for (const auto& [key, value] : entries) out.write(key, value);
    std::stringstream file;
    out.save_to(file);
    serialize::InputArchive in;
    in.load_from(file);
    return in;
  };
  SequentialSampler sequential(10);
  sequential.next(4);
  for (const Tensor& index : {full({}, -1), full({}, 2.0), zeros({2}, kLong)}) {
    auto in = archive({{"index", index}});
    EXPECT_THROW(sequential.load(in), ValueError);
    EXPECT_EQ(sequential.index(), 4u);
  }
  auto past = archive({{"index", full({}, 11)}});  // as libtorch: that of a larger data set
  sequential.load(past);
  EXPECT_EQ(sequential.index(), 11u);
  EXPECT_FALSE(sequential.next(1).has_value());
  RandomSampler random(5);
  random.next(2);
  for (const Tensor& indices :
       {tensor({0, 1, 5}), tensor({-1, 0, 1}), ones({3}), zeros({}, kLong)}) {
    auto in = archive({{"index", full({}, 1)}, {"indices", indices}});
    EXPECT_THROW(random.load(in), ValueError);
    EXPECT_EQ(random.index(), 2u);
    EXPECT_EQ(RandomSampler(random).next(9)->size(), 3u);
  }
  DistributedRandomSampler distributed(10, 2, 0);
  distributed.next(3);
  auto in = archive({{"epoch_", full({}, 7)}});
  EXPECT_THROW(distributed.load(in), ValueError);
  EXPECT_EQ(distributed.epoch(), 0u);
  EXPECT_EQ(distributed.index(), 3u);
}

TEST(Samplers, StateSurvivesSaving) {
  RandomSampler a(10), b(10);
  a.next(4);
  copy_state(a, b);
  EXPECT_EQ(b.index(), 4u);
  EXPECT_EQ(rest(a), rest(b));
  SequentialSampler c(10), d(10);
  c.next(7);
  copy_state(c, d);
  EXPECT_EQ(rest(d), (Indices{7, 8, 9}));
}

TEST(Samplers, DistributedSharesCoverAndAgree) {
  for (bool duplicates : {true, false}) {
    std::multiset<std::size_t> seen;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      DistributedRandomSampler s(10, 3, rank, duplicates);
      auto mine = rest(s);
      EXPECT_EQ(mine.size(), duplicates ? 4u : 3u);
      seen.insert(mine.begin(), mine.end());
    }
    EXPECT_EQ(std::set<std::size_t>(seen.begin(), seen.end()).size(), duplicates ? 10u : 9u);
  }
  DistributedRandomSampler a(10, 2, 0), b(10, 2, 0);
  auto first = rest(a);
  EXPECT_EQ(first, rest(b));
  a.set_epoch(1);
  a.reset();
  EXPECT_NE(first, rest(a));
  EXPECT_THROW(DistributedRandomSampler(10, 2, 2), ValueError);
}

TEST(Samplers, DistributedSequentialWrapsAround) {
  DistributedSequentialSampler last(10, 3, 2);
  EXPECT_EQ(rest(last), (Indices{8, 9, 0, 1}));
}

TEST(Samplers, StreamSumsToTheEpoch) {
  StreamSampler s(5);
  EXPECT_EQ(s.next(3)->size(), 3u);
  EXPECT_EQ(s.next(3)->size(), 2u);
  EXPECT_FALSE(s.next(3));
}

}  // namespace
