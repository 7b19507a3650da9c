// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "tenon/data/detail/data_shuttle.h"
#include "tenon/data/detail/queue.h"
#include "tenon/data/detail/sequencers.h"
#include "tests/support.h"

using namespace tenon;
using namespace tenon::data::detail;
using test::expect_words;
using test::text_of;

namespace {

constexpr std::chrono::milliseconds kShort(5);

TEST(Queue, IsFirstInFirstOutAcrossThreads) {
  Queue<int> queue;
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) queue.push(i);
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(queue.pop(), i);
  writer.join();
  queue.push(1);
  queue.push(2);
  EXPECT_EQ(queue.clear(), 2u);
  expect_words(text_of([&] { queue.pop(kShort); }),
               {"Timeout in DataLoader queue while waiting for next batch (timeout was 5 ms)"});
}

TEST(DataShuttle, GivesNothingWhenNoJobIsInFlight) {
  DataShuttle<int, int> shuttle;
  EXPECT_FALSE(shuttle.pop_result().has_value());
  shuttle.push_job(1);
  shuttle.push_job(2);
  EXPECT_EQ(shuttle.pop_job(), 1);
  shuttle.push_result(10);
  EXPECT_EQ(shuttle.pop_result().value(), 10);
  EXPECT_EQ(shuttle.in_flight_jobs(), 1u);
  shuttle.drain();
  EXPECT_EQ(shuttle.in_flight_jobs(), 0u);
  EXPECT_FALSE(shuttle.pop_result().has_value());
}

struct Numbered {
  std::size_t sequence_number;
};

TEST(Sequencers, BringResultsIntoOrder) {
  const std::vector<std::size_t> given = {0, 2, 4, 3, 1};
  std::size_t at = 0;
  const auto next = [&]() -> std::optional<Numbered> {
    if (at == given.size()) return std::nullopt;
    return Numbered{given[at++]};
  };
  sequencers::OrderedSequencer<Numbered> ordered(5);
  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(ordered.next(next)->sequence_number, i);
    EXPECT_EQ(at, i == 0 ? 1u : given.size());
  }
  EXPECT_FALSE(ordered.next(next).has_value());
  at = 0;
  sequencers::NoSequencer<Numbered> none;
  for (const std::size_t i : given) EXPECT_EQ(none.next(next)->sequence_number, i);
}

// More results in flight than the buffer has places for is an error, not a lost result.
TEST(Sequencers, AFullBufferIsAnError) {
  std::size_t number = 1;
  sequencers::OrderedSequencer<Numbered> ordered(2);
  expect_words(text_of([&] { ordered.next([&] { return Numbered{number += 2}; }); }),
               {"more than 2 jobs"});
}

}  // namespace
