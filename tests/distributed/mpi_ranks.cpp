// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
//   mpirun -n 2 distributed_mpi [threads|single]
// What is MPI's own: groups, errors instead of an abort, the end. The collectives are in
// collectives_test.cpp.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tenon/distributed.h"
#include "tenon/tenon.h"

namespace tenon::distributed {
namespace {

using namespace std::chrono_literals;

ProcessGroupPtr make_group(const std::string& name, std::chrono::milliseconds timeout) {
  ProcessGroupOptions o;
  o.backend = "mpi";
  o.timeout = timeout;
  o.group_name = name;
  return std::make_shared<ProcessGroup>(default_group()->getStore(), get_rank(), 2, o);
}

template <class F>
DistributedError error_of(F f) {
  try {
    f();
  } catch (const DistributedError& e) {
    return e;
  }
  return DistributedError("no error");
}

TEST(Mpi, RanksAreThoseOfMpirun) {
  EXPECT_EQ(get_world_size(), 2);
  EXPECT_EQ(std::to_string(get_rank()), std::getenv("OMPI_COMM_WORLD_RANK"));
  EXPECT_THROW(init_process_group("mpi"), ValueError);
}

TEST(Mpi, GroupsHaveRanksOfTheirOwn) {
  const ProcessGroupPtr alone = new_group({1});
  EXPECT_EQ(alone != nullptr, get_rank() == 1);
  Tensor x = full({1}, 5, kLong);
  if (alone) all_reduce(x, ReduceOp::SUM, alone);
  EXPECT_EQ(x.item<int64_t>(), 5);
  ProcessGroupOptions o;
  o.backend = "mpi";
  o.group_name = "reversed";
  const auto reversed =
      std::make_shared<ProcessGroup>(default_group()->getStore(), 1 - get_rank(), 2, o);
  Tensor y = full({1}, get_rank(), kLong);
  broadcast(y, 0, reversed);
  EXPECT_EQ(y.item<int64_t>(), 1);
}

// Open MPI itself writes a long message beyond a buffer that is too short.
TEST(Mpi, AMessageOfAnotherLengthIsToldWithBoth) {
  for (const int64_t sent : {1, 3, 1 << 16}) {
    const auto group = make_group(core::join("length", static_cast<long>(sent)), 20s);
    if (get_rank() == 0) {
      send(ones({sent}), 1, group, 3);
    } else {
      const Tensor all = zeros({1 << 16});
      const std::string text = error_of([&] { recv(all.narrow(0, 0, 2), 0, group, 3); }).what();
      EXPECT_NE(text.find(core::join("rank 0 sent ", static_cast<long>(4 * sent),
                                     " bytes; expected 8 bytes on rank 1")),
                std::string::npos)
          << text;
      EXPECT_TRUE(equal(all, zeros({1 << 16})));
    }
    default_group()->barrier()->wait();
  }
}

// Whoever asks, and in whichever order: messages are for the receives that began first.
TEST(Mpi, MessagesComeInTheOrderOfTheirReceives) {
  const int64_t n = 20000;
  if (get_rank() == 0) {
    for (int i = 0; i < 8; ++i) isend(full({n}, i, kInt), 1, nullptr, 5)->wait();
    return default_group()->barrier()->wait(), void();
  }
  std::vector<Tensor> to;
  std::vector<WorkPtr> works;
  for (int i = 0; i < 8; ++i) {
    to.push_back(zeros({n}, kInt));
    works.push_back(irecv(to.back(), i % 2 ? 0 : kAnySource, nullptr, 5));
  }
  for (int i = 8; i-- > 0;) works[static_cast<std::size_t>(i)]->wait();
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(equal(to[static_cast<std::size_t>(i)], full({n}, i, kInt)));
    EXPECT_EQ(works[static_cast<std::size_t>(i)]->sourceRank(), 0);
  }
  default_group()->barrier()->wait();
}

// More than is sent at once, to each rank parts that differ by one element.
TEST(Mpi, ReductionsInSegments) {
  const int64_t count = 4'300'003;
  const auto of = [count](int r) { return arange(count, kInt) * (r + 1); };
  const Tensor sum = of(0) + of(1);
  for (int root = 0; root < 2; ++root) {
    Tensor x = of(get_rank()), y = of(get_rank());
    all_reduce(x);
    EXPECT_TRUE(equal(x, sum));
    reduce(y, root);
    EXPECT_TRUE(equal(y, get_rank() == root ? sum : of(get_rank())));
    Tensor part = zeros({count}, kInt);
    reduce_scatter_tensor(part, cat({of(get_rank()), of(get_rank()) + 1}));
    EXPECT_TRUE(equal(part, get_rank() == 0 ? sum : sum + 2));
  }
}

// MPI's own reductions would add up what both have, and a message of Open MPI that is longer than
// its receiver's buffer would be written all the same. The tensor is the program's again.
TEST(Mpi, ReductionsOfDifferentLengthsAreToldOnBothRanks) {
  const int64_t lengths[][2] = {{1000, 1010}, {2, 3}, {800, 1500}, {768, 1536}, {10, 2000}};
  for (const auto& of : lengths) {
    const auto group = make_group(core::join("lengths", static_cast<long>(of[0])), 20s);
    const auto start = std::chrono::steady_clock::now();
    const Tensor x = ones({of[get_rank()]});
    const std::string text = error_of([&] { all_reduce(x, ReduceOp::SUM, group); }).what();
    EXPECT_NE(text.find(core::join("all_reduce sum float32 [", of[1], "]")), std::string::npos)
        << text;
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
    EXPECT_EQ(x.use_count(), 1u);
    default_group()->barrier()->wait();
  }
}

// MPI's own would pass with a part of the elements, and Open MPI's overrun the shorter buffer.
TEST(Mpi, CollectivesOfDifferentLengthsAreToldOnBothRanks) {
  const char* const names[] = {"broadcast", "all_gather", "scatter", "gather"};
  const Tensor x = ones({get_rank() == 0 ? 700 : 500});
  const auto one_per_rank = [&] { return std::vector<Tensor>{zeros_like(x), zeros_like(x)}; };
  for (const std::string name : names) {
    const auto group = make_group(name, 20s);
    const auto start = std::chrono::steady_clock::now();
    const std::string text = error_of([&] {
                               const auto list = one_per_rank();
                               const auto at_root = get_rank() == 0 ? list : std::vector<Tensor>();
                               if (name == "broadcast") broadcast(x, 0, group);
                               if (name == "all_gather") all_gather(list, x, group);
                               if (name == "scatter") scatter(x, at_root, 0, group);
                               if (name == "gather") gather(x, at_root, 0, group);
                               barrier(group);
                             }).what();
    EXPECT_NE(text.find(name), std::string::npos) << text;
    EXPECT_NE(text.find("[700]"), std::string::npos) << text;
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
    default_group()->barrier()->wait();
  }
}

// The other rank comes when the first has given up: MPI can then end.
TEST(Mpi, AWaitEndsWithItsTimeoutAndNamesTheRankThatIsBehind) {
  const auto group = make_group("late", get_rank() == 0 ? 300ms : 20s);
  const auto store = group->getStore();
  if (get_rank() == 0) {
    const DistributedError e = error_of([&] { all_reduce(ones({1000}), ReduceOp::SUM, group); });
    EXPECT_EQ(e.ranks(), std::vector<int>{1}) << e.what();
    EXPECT_THROW(barrier(group), DistributedError);
    store->set("gave up", "1");
  } else {
    store->wait({"gave up"}, 20s);
    error_of([&] { all_reduce(ones({1000}), ReduceOp::SUM, group); });
  }
  default_group()->barrier()->wait();
}

TEST(Mpi, AnAbortWakesWhoWaits) {
  const auto group = make_group("aborted", 20s);
  Tensor x = zeros({4});
  const WorkPtr work = irecv(x, 1 - get_rank(), group);
  std::thread ends([&] {
    std::this_thread::sleep_for(50ms);
    group->abort();
  });
  EXPECT_THROW(work->wait(), DistributedError);
  ends.join();
  EXPECT_NE(std::string(error_of([&] { barrier(group); }).what()).find("aborted"),
            std::string::npos);
  default_group()->barrier()->wait();
}

}  // namespace
}  // namespace tenon::distributed

// MPI is begun and ended by the program, at a level that the engine can use or not.
int run_in_own_mpi(bool threads) {
  namespace dist = tenon::distributed;
  int level = 0, failed = 1;
  MPI_Init_thread(nullptr, nullptr, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  try {
    dist::init_process_group("mpi", "mpi://", -1, -1, "", std::chrono::seconds(20));
    const tenon::Tensor x = tenon::full({1}, 1, tenon::kLong);
    dist::all_reduce(x);
    failed = x.item<int64_t>() != 2 || !threads;
    dist::destroy_process_group();
  } catch (const tenon::Error& e) {
    const bool told =
        std::string(e.what()).find("without MPI_THREAD_MULTIPLE") != std::string::npos;
    failed = threads || !told;
    if (failed) std::fprintf(stderr, "%s\n", e.what());
  }
  MPI_Finalize();
  return failed;
}

int main(int argc, char** argv) {
  namespace dist = tenon::distributed;
  const std::string begins = argc > 1 ? argv[1] : "";
  if (begins == "threads" || begins == "single") return run_in_own_mpi(begins == "threads");
  int failed = 0;
  try {
    dist::init_process_group("mpi", "env://", -1, -1, "", std::chrono::seconds(20));
    testing::InitGoogleTest(&argc, argv);
    failed = RUN_ALL_TESTS();
    dist::destroy_process_group();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
  return failed;
}
