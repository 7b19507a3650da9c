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
