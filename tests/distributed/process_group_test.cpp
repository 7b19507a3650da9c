// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What groups refuse, and what engines say of themselves.
#include <sched.h>

#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "tests/distributed/ranks.h"

namespace tenon::distributed {
namespace {

TEST(ProcessGroup, NamesWhatIsWrong) {
  run_ranks(2, [](const ProcessGroupPtr& g) {
    std::vector<Tensor> two = {ones({1}), ones({1})}, wrong = {ones({2}), ones({1})};
    EXPECT_THROW(g->broadcast(wrong), ValueError);
    BroadcastOptions third;
    third.rootTensor = 2;
    EXPECT_THROW(g->broadcast(two, third), ValueError);
    EXPECT_THROW(broadcast(ones({1}), 2, g), ValueError);
    EXPECT_THROW(g->allreduce(two), ValueError);
    EXPECT_THROW(all_gather(wrong, ones({1}), g), ValueError);
    EXPECT_THROW(send(ones({1}), g->getRank(), g), ValueError);
    EXPECT_THROW(all_to_all_single(zeros({3}), zeros({3}), {}, {}, g), ValueError);
  });
  EXPECT_THROW(get_rank(), ValueError);
  EXPECT_THROW(init_process_group("gloo", "tcp://127.0.0.1", 1, 0), ValueError);
  EXPECT_THROW(init_process_group("gloo", "carrier-pigeon://x", 1, 0), ValueError);
  ProcessGroupOptions o;
  o.backend = "no_such_engine";
  EXPECT_THROW(ProcessGroup(std::make_shared<HashStore>(), 0, 1, o), BackendError);
}

TEST(ProcessGroup, SaysWhoDidNotCome) {
  ProcessGroupOptions o;
  o.timeout = std::chrono::milliseconds(200);
  try {
    ProcessGroup g(std::make_shared<HashStore>(), 1, 3, o);
    FAIL();
  } catch (const TimeoutError& e) {
    EXPECT_EQ(e.ranks(), (std::vector<int>{0, 2})) << e.what();
  }
}

// The scheduling policies of this process's threads.
std::multiset<int> policies() {
  std::multiset<int> out;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    out.insert(sched_getscheduler(std::stoi(task.path().filename().string())));
  return out;
}

// gloo's thread would take the core of the one whose lock it asks for.
TEST(ProcessGroup, ThreadsOfGlooDoNotPreempt) {
  bool may = false;
  std::thread([&may] {
    const sched_param priority{};
    may = sched_setscheduler(0, SCHED_BATCH, &priority) == 0;
  }).join();
  if (!may) GTEST_SKIP() << "this system allows no SCHED_BATCH";
  const std::size_t before = policies().count(SCHED_BATCH);
  run_ranks(2, [before](const ProcessGroupPtr& g) {
    barrier(g);
    EXPECT_GE(policies().count(SCHED_BATCH), before + 2);  // that of each rank
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    barrier(g);
  });
}

// Rank 0 of two, of which the other one comes to the group and to no operation.
template <class F>
void run_beside_absent_rank(F&& f) {
  auto store = std::make_shared<HashStore>(std::chrono::seconds(30));
  ProcessGroupOptions options;
  options.timeout = std::chrono::seconds(30);
  std::thread other([&] {
    ProcessGroup absent(store->clone(), 1, 2, options);
    store->wait({"ended"}, std::chrono::seconds(30));
  });
  {
    ProcessGroup g(store->clone(), 0, 2, options);
    f(g);
    store->set("ended", "1");
  }
  other.join();
}

// Whichever way the engine takes for so many elements.
TEST(ProcessGroup, ACallHasItsOwnTimeout) {
  for (const int64_t elements : {3, 4096, 1 << 20}) {
    run_beside_absent_rank([elements](ProcessGroup& g) {
      std::vector<Tensor> t = {ones({elements})};
      AllreduceOptions o;
      o.timeout = std::chrono::milliseconds(300);
      o.asyncOp = false;
      const auto start = std::chrono::steady_clock::now();
      EXPECT_THROW(g.allreduce(t, o)->wait(), DistributedError) << elements;
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << elements;
    });
  }
}

TEST(ProcessGroup, AbortEndsASend) {
  run_beside_absent_rank([](ProcessGroup& g) {
    std::vector<Tensor> t = {ones({16 << 20})};
    const WorkPtr work = g.send(t, 1, 0);
    const auto start = std::chrono::steady_clock::now();
    std::thread ends([&g] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      g.abort();
    });
    EXPECT_THROW(work->wait(), DistributedError);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
    ends.join();
    EXPECT_THROW(g.send(t, 1, 0)->wait(), DistributedError);
  });
}

TEST(ProcessGroup, AMonitoredBarrierNamesWhoDidNotCome) {
  run_beside_absent_rank([](ProcessGroup& g) {
    BarrierOptions o;
    o.timeout = std::chrono::milliseconds(300);
    try {
      g.monitoredBarrier(o);
      ADD_FAILURE() << "it waited for nobody";
    } catch (const DistributedError& e) {
      EXPECT_EQ(e.ranks(), std::vector<int>{1}) << e.what();
      EXPECT_NE(std::string(e.what()).find("Rank 1 did not pass"), std::string::npos) << e.what();
    }
  });
}

// What an engine says of itself is what its operations do.
TEST(ProcessGroup, SaysWhatAnEngineCanDo) {
  const std::vector<Capability> all = capabilities();
  const auto dtypes_of = [&](const std::string& operation, const std::string& reduction) {
    std::set<std::string> out;
    for (const Capability& c : all) {
      EXPECT_FALSE(c.engine == "gloo" && c.device == "cuda");
      if (c.engine == "gloo" && c.operation == operation && c.reduction == reduction)
        out.insert(c.dtypes.begin(), c.dtypes.end());
    }
    return out;
  };
  EXPECT_TRUE(dtypes_of("reduce_scatter", "sum").empty());
  EXPECT_TRUE(dtypes_of("broadcast", "").count("bool"));
  const std::set<std::string> sums = dtypes_of("all_reduce", "sum"),
                              averages = dtypes_of("all_reduce", "avg"),
                              bitwise = dtypes_of("all_reduce", "bxor");
  EXPECT_TRUE(sums.count("bfloat16") && averages.count("complex64") && bitwise.count("int8"));
  EXPECT_EQ(averages.size() + bitwise.size(), sums.size());
  run_ranks(2, [&](const ProcessGroupPtr& g) {
    for (ScalarType t : {kFloat, kInt, kComplexFloat, kBool}) {
      for (const auto& [op, dtypes] : {std::pair(ReduceOp(ReduceOp::AVG), averages),
                                       std::pair(ReduceOp(ReduceOp::BXOR), bitwise)}) {
        const Tensor x = ones({2}, t);
        if (dtypes.count(core::dtype_info(t).name))
          EXPECT_NO_THROW(all_reduce(x, op, g));
        else
          EXPECT_THROW(all_reduce(x, op, g), NotImplementedError);
      }
    }
  });
}

}  // namespace
}  // namespace tenon::distributed
