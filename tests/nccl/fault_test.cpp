// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Each call of NCCL that fails, ranks that do not come, aborts.
#include <thread>

#include "tests/nccl/fake/control.h"
#include "tests/nccl/ranks.h"

namespace tenon::distributed {
namespace {

using namespace std::chrono_literals;

void expect_works(const ProcessGroupPtr& group) {
  Tensor x = on_device(full({5}, 1, kFloat));
  all_reduce(x, ReduceOp::SUM, group);
  EXPECT_TRUE(equal(x.cpu(), full({5}, get_world_size(), kFloat)));
}

void run(const std::string& f, const ProcessGroupPtr& g) {
  const int n = get_world_size();
  Tensor t = on_device(ones({n, 4}));
  std::vector<Tensor> list;
  for (int r = 0; r < n; ++r) list.push_back(on_device(ones({n, 4})));
  if (f == "ncclAllReduce" || f == "ncclCommGetAsyncError") all_reduce(t, ReduceOp::SUM, g);
  if (f == "ncclReduce") reduce(t, 0, ReduceOp::SUM, g);
  if (f == "ncclBroadcast") broadcast(t, 0, g);
  if (f == "ncclAllGather") all_gather(list, t, g);
  if (f == "ncclReduceScatter") reduce_scatter(t, list, ReduceOp::SUM, g);
  if (f == "ncclGroupStart" || f == "ncclGroupEnd") all_to_all(list, list, g);
  if (f == "ncclSend" || f == "ncclRecv") all_to_all(list, list, g);
}

constexpr const char* kOperations[] = {"ncclAllReduce", "ncclReduce",        "ncclBroadcast",
                                       "ncclAllGather", "ncclReduceScatter", "ncclSend",
                                       "ncclRecv",      "ncclGroupStart",    "ncclGroupEnd"};

// NCCL was called wrongly: the group goes on.
TEST(NcclFaults, ACallThatIsRefusedIsToldAndTheNextWorks) {
  const ProcessGroupPtr group = make_group("refused", 20s);
  for (const std::string f : kOperations) {
    fake::set_fake_nccl("fail", (f + "=4").c_str());
    const std::string text = error_of([&] { run(f, group); }).what();
    expect_text(text, f + ": fake error 4 (" + f + " was told to fail)");
    expect_text(text, core::join("failed on rank ", get_rank()));
    expect_works(group);
  }
}

// NCCL is broken: the group ends, and another one can be made.
TEST(NcclFaults, ACallThatFailsEndsTheGroup) {
  for (const std::string f : kOperations) {
    const ProcessGroupPtr group = make_group("broken/" + f, 20s);
    fake::set_fake_nccl("fail", (f + "=2").c_str());
    expect_text(error_of([&] { run(f, group); }).what(), f + ": fake error 2");
    expect_text(error_of([&] { expect_works(group); }).what(),
                "the group was aborted: " + f + ": fake error 2");
    expect_works(make_group("after/" + f, 20s));
  }
}

TEST(NcclFaults, AGroupThatCannotBeMadeIsToldAndTheNextWorks) {
  for (const std::string f :
       {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError"}) {
    fake::set_fake_nccl("fail", (f + "=2").c_str());
    const bool is_of_rank_0 = f == "ncclGetUniqueId" && get_rank() > 0;
    const std::string text = error_of([&] { make_group("unmade/" + f, 5s); }).what();
    expect_text(text, core::join("as rank ", get_rank(), " failed: "));
    expect_text(text, f + ": fake error 2");
    if (is_of_rank_0) {
      expect_text(text, "rank 0 could not begin");
      fake::set_fake_nccl("fail", "");
    }
    expect_works(make_group("made/" + f, 20s));
  }
}

// What is told when the group ends is lost; the next one works.
TEST(NcclFaults, AnEndThatFailsDoesNoHarm) {
  for (const std::string f : {"ncclCommFinalize", "ncclCommDestroy"}) {
    expect_works(make_group("end/" + f, 20s));
    fake::set_fake_nccl("fail", (f + "=2").c_str());
    { const ProcessGroupPtr group = make_group("end2/" + f, 20s); }
    expect_works(make_group("next/" + f, 20s));
  }
  const ProcessGroupPtr group = make_group("end by an abort", 20s);
  fake::set_fake_nccl("fail", "ncclCommAbort=2");
  group->abort();
  expect_text(error_of([&] { barrier(group); }).what(), "the group was aborted");
  expect_works(make_group("next by an abort", 20s));
}

TEST(NcclFaults, AnErrorThatComesLaterEndsTheOperation) {
  const ProcessGroupPtr group = make_group("async", 20s);
  fake::set_fake_nccl("hang", "1");
  Tensor x = on_device(ones({4}));
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, group, true);
  work->wait();
  fake::set_fake_nccl("async", "6");
  expect_text(error_of([&] { work->wait(20s); }).what(), "NCCL: fake error 6");
  fake::set_fake_nccl("hang", "");
  EXPECT_TRUE(work->is_completed() && work->exception() && !work->is_success());
  expect_text(error_of([&] { barrier(group); }).what(), "the group was aborted");
  default_group()->barrier()->wait();
}

// Rank 1 does not come: the others' streams go on, and are told by whoever asks.
TEST(NcclFaults, AnOperationEndsWithItsTimeoutAndNamesTheRankThatIsMissing) {
  const ProcessGroupPtr group = make_group("late", 800ms);
  const auto store = group->getStore();
  if (get_rank() == 1) {
    store->wait({"gave up"}, 20s);
  } else {
    Tensor x = on_device(ones({4}));
    const WorkPtr work = all_reduce(x, ReduceOp::SUM, group, true);
    EXPECT_TRUE(work->wait());
    x.cpu();  // does not hang
    const DistributedError e = error_of([&] { work->wait(20s); });
    expect_text(e.what(), "not done within 800 ms");
    EXPECT_EQ(e.ranks(), std::vector<int>{1}) << e.what();
    expect_text(error_of([&] { all_reduce(x, ReduceOp::SUM, group); }).what(),
                "the group was aborted: not done within 800 ms");
    if (get_rank() == 0) store->set("gave up", "1");
  }
  default_group()->barrier()->wait();
  expect_works(make_group("after late", 20s));
}

TEST(NcclFaults, JoiningEndsWithItsTimeout) {
  if (get_rank() == 1) {
    default_group()->barrier()->wait();
    return;
  }
  expect_text(error_of([&] { make_group("absent", 300ms); }).what(), "rank 1 did not come");
  default_group()->barrier()->wait();
}

TEST(NcclFaults, JoiningInNcclEndsWithItsTimeout) {
  default_group()->barrier()->wait();
  fake::set_fake_nccl("hang", "1");
  expect_text(error_of([&] { make_group("stuck", 300ms); }).what(),
              "ncclCommInitRankConfig: not done within 300 ms");
  fake::set_fake_nccl("hang", "");
  expect_works(make_group("after stuck", 20s));
}

TEST(NcclFaults, AnAbortWakesWhoWaits) {
  const ProcessGroupPtr group = make_group("aborted", 20s);
  fake::set_fake_nccl("hang", "1");
  Tensor x = on_device(zeros({4}));
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, group, true);
  std::thread ends([&] {
    std::this_thread::sleep_for(50ms);
    group->abort();
  });
  expect_text(error_of([&] { work->wait(20s); }).what(), "the group was aborted");
  ends.join();
  fake::set_fake_nccl("hang", "");
  expect_text(error_of([&] { barrier(group); }).what(), "the group was aborted");
  default_group()->barrier()->wait();
}

// A host that waits for the stream is let go, too.
TEST(NcclFaults, AnAbortLetsTheDeviceGoOn) {
  const ProcessGroupPtr group = make_group("aborted in a stream", 20s);
  fake::set_fake_nccl("hang", "1");
  Tensor x = on_device(zeros({4}));
  all_reduce(x, ReduceOp::SUM, group);
  std::thread ends([&] {
    std::this_thread::sleep_for(50ms);
    group->abort();
  });
  x.cpu();
  ends.join();
  fake::set_fake_nccl("hang", "");
  default_group()->barrier()->wait();
}

// The engine waits, and the ranks tell each other what they have come to.
TEST(NcclFaults, AnotherOperationIsToldBeforeTheTimeout) {
  if (get_world_size() < 3) GTEST_SKIP() << "of two ranks none is the majority";
  const ProcessGroupPtr group = make_group("other", 20s);
  Tensor x = on_device(ones({get_rank() == 1 ? 3 : 2}));
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, group, true);
  work->wait();
  const DistributedError e = error_of([&] { work->wait(20s); });
  EXPECT_EQ(e.ranks(), std::vector<int>{1});
  expect_text(e.what(), "all_reduce sum float32 [3]; expected all_reduce sum float32 [2]");
  default_group()->barrier()->wait();
}

}  // namespace
}  // namespace tenon::distributed
