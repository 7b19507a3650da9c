// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operations in the order of streams. Those of the fake runtime are late: what nothing waits for
// has not happened.
#include "tenon/distributed/parallel/data_parallel.h"
#include "tenon/stream.h"
#include "tests/nccl/fake/control.h"
#include "tests/nccl/ranks.h"

namespace tenon::distributed {
namespace {

using Clock = std::chrono::steady_clock;

Tensor sum_of(int64_t n) {
  const int size = get_world_size();
  return full({n}, size * (size + 1) / 2, kFloat);
}
Tensor mine(int64_t n) { return full({n}, get_rank() + 1, kFloat); }

TEST(NcclOrder, AResultThatIsReadTooEarlyIsNotThereYet) {
  Tensor x = on_device(mine(1000));
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, nullptr, /*async_op=*/true);
  EXPECT_TRUE(equal(x.cpu(), mine(1000)));  // of the current stream, which waits for nothing
  EXPECT_TRUE(work->wait());
  EXPECT_TRUE(equal(x.cpu(), sum_of(1000)));
  EXPECT_TRUE(work->is_completed() && work->is_success());
  // Not in place: what is there meanwhile is nothing.
  Tensor in = on_device(mine(10)), out = on_device(zeros({10 * get_world_size()}));
  const WorkPtr gathered = all_gather_into_tensor(out, in, nullptr, true);
  EXPECT_NE(out.cpu()[0].item<float>(), 1);
  gathered->wait();
  EXPECT_EQ(out.cpu()[0].item<float>(), 1);
}

TEST(NcclOrder, AWaitDoesNotKeepTheHost) {
  Tensor x = on_device(mine(100));
  barrier();
  fake::set_fake_nccl("delay_ms", "600");
  const auto start = Clock::now();
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, nullptr, true);
  work->wait();
  all_reduce(x);  // one without a work does not either
  EXPECT_LT(Clock::now() - start, std::chrono::milliseconds(500));
  EXPECT_FALSE(work->is_completed());
  EXPECT_THROW(work->wait(std::chrono::milliseconds(20)), TimeoutError);
  EXPECT_TRUE(work->wait(std::chrono::seconds(20)));  // one with a timeout does
  EXPECT_GT(Clock::now() - start, std::chrono::milliseconds(600));
  fake::set_fake_nccl("delay_ms", "0");
  EXPECT_TRUE(equal(x.cpu(), sum_of(100) * get_world_size()));
}

TEST(NcclOrder, ComesAfterWhatTheCurrentStreamHas) {
  Tensor x = on_device(zeros({1000}));
  x.fill_(get_rank() + 1);
  all_reduce(x);
  x.mul_(2);
  all_reduce(x);
  EXPECT_TRUE(equal(x.cpu(), sum_of(1000) * (2 * get_world_size())));
  // Whoever asks for the operation alone moves its stream on.
  x.fill_(get_rank() + 1);
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, nullptr, true);
  while (!work->is_completed()) {
  }
  EXPECT_TRUE(equal(x.cpu(), sum_of(1000)));
}

TEST(NcclOrder, WaitsOnOtherStreams) {
  const Stream side = stream_from_pool();
  Tensor x = on_device(mine(50));
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, nullptr, true);
  {
    const StreamGuard on(side);
    work->wait();
    EXPECT_TRUE(equal(x.cpu(), sum_of(50)));
  }
  Tensor y;
  {
    const StreamGuard on(side);
    side.wait(default_stream());
    y = on_device(mine(50));
    all_reduce(y);
    EXPECT_TRUE(equal(y.cpu(), sum_of(50)));
  }
}

// Results of a list are copied in the stream's order, and their buffers outlive the operation.
TEST(NcclOrder, BuffersOutliveTheirWorks) {
  const int n = get_world_size();
  for (int i = 0; i < 5; ++i) {
    std::vector<Tensor> list;
    for (int r = 0; r < n; ++r) list.push_back(on_device(zeros({1000})));
    {
      const WorkPtr work = all_gather(list, on_device(mine(1000)), nullptr, true);
      work->wait();
    }
    const Tensor other = on_device(full({1000}, 77, kFloat));  // in memory that was given back
    for (int r = 0; r < n; ++r)
      EXPECT_TRUE(equal(list[static_cast<std::size_t>(r)].cpu(), full({1000}, r + 1, kFloat)));
  }
  // Nobody holds this one, and nobody waits for it.
  all_reduce(on_device(mine(1000)), ReduceOp::SUM, nullptr, true);
  barrier();
}

TEST(NcclOrder, FuturesAndCallbacks) {
  Tensor x = on_device(mine(8));
  int called = 0;
  const WorkPtr work = all_reduce(x, ReduceOp::SUM, nullptr, true);
  work->add_callback([&] { ++called; });
  auto doubled = work->get_future()->then(
      [](Future& f) { return IValue(f.value().toTensorVector().at(0) * 2); });
  EXPECT_TRUE(equal(doubled->value().toTensor().cpu(), sum_of(8) * 2));
  work->wait(std::chrono::seconds(20));
  EXPECT_EQ(called, 1);
}

// A group that ends lets what a stream waits for go on.
TEST(NcclOrder, AGroupThatEndsFinishesWhatIsWaitedFor) {
  Tensor x = on_device(mine(20));
  {
    const ProcessGroupPtr group = make_group("ends", std::chrono::seconds(20));
    all_reduce(x, ReduceOp::SUM, group);
  }
  EXPECT_TRUE(equal(x.cpu(), sum_of(20)));
}

TEST(NcclOrder, Training) {
  const DeviceGuard on(Device("cuda:0"));
  manual_seed(3);
  auto net = nn::Linear(4, 2);
  net->to(Device("cuda:0"));
  nn::parallel::DistributedDataParallel parallel(net);
  const Tensor x = on_device(full({3, 4}, get_rank() + 1, kFloat));
  parallel(x).sum().backward();
  const double mean = (get_world_size() + 1) / 2.0 * 3;
  EXPECT_TRUE(allclose(net->weight.grad().cpu(), full({2, 4}, mean, kFloat)));
}

}  // namespace
}  // namespace tenon::distributed
