// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The public streams and events. The fake's streams run as late as they may, so that missing
// synchronization shows.
#include "tenon/stream.h"

#include <iterator>
#include <set>
#include <thread>

#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaStream = Cuda;

Tensor pinned_bytes(int64_t n) { return empty({n}, TensorOptions(kByte).pinned_memory(true)); }

TEST_F(CudaStream, ThePoolHandsOutThirtyTwo) {
  std::set<int64_t> ids;
  for (int i = 0; i < 64; ++i) ids.insert(stream_from_pool().id());
  EXPECT_EQ(ids.size(), 32u);
  EXPECT_EQ(ids.count(0), 0u) << "none is the default stream";
  EXPECT_EQ(ids.count(stream_from_pool(kCUDA, -1).id()), 0u) << "other priorities have their own";
  EXPECT_NE(stream_from_pool(Device("cuda:1")).device(), stream_from_pool().device());
  expect_words(text_of<ValueError>([] { (void)stream_from_pool(Device("cuda:7")); }),
               {"below 2 for cuda, got 7"});
}

TEST_F(CudaStream, FactoriesPin) {
  const TensorOptions pinned = TensorOptions(kFloat).pinned_memory(true);
  const Tensor x = ones({3});
  const Tensor made[] = {empty({2, 3}, pinned),
                         zeros({2}, pinned),
                         full({2}, 3, pinned),
                         arange(4, pinned),
                         rand({3}, pinned),
                         randperm(4, pinned),
                         empty_strided({2, 2}, {1, 2}, pinned),
                         empty_like(x, pinned),
                         x.new_zeros({2}, pinned)};
  for (std::size_t k = 0; k < std::size(made); ++k)
    EXPECT_TRUE(made[k].is_pinned() && made[k].is_cpu()) << k;
  EXPECT_FALSE(zeros({2}, pinned.pinned_memory(false)).is_pinned());
  expect_words(text_of<TypeError>([&] { (void)zeros({2}, pinned.device(kCUDA)); }),
               {"zeros", "only memory of the host can be pinned", "cuda:0"});
}

TEST_F(CudaStream, TheCurrentOneIsTheThreads) {
  const Stream side = stream_from_pool(), plain = default_stream();
  EXPECT_EQ(current_stream(), plain);
  {
    StreamGuard on(side);
    EXPECT_EQ(current_stream(), side);
    std::thread([&] { EXPECT_EQ(current_stream(), plain); }).join();
    try {
      StreamGuard other(stream_from_pool(Device("cuda:1")));
      EXPECT_EQ(current_device(), Device("cuda:1"));
      throw std::runtime_error("in the middle");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(current_device(), Device("cuda:0"));
    EXPECT_EQ(current_stream(), side);
    EXPECT_EQ(current_stream(Device("cuda:1")), default_stream(Device("cuda:1")));
  }
  EXPECT_EQ(current_stream(), plain);
  EXPECT_NE(side.native_handle(), nullptr);
  EXPECT_NE(side.native_handle(), plain.native_handle());
  {
    DeviceGuard on(Device("cuda:1"));
    EXPECT_EQ(zeros({1}, kCUDA).device(), Device("cuda:1"));
  }
  EXPECT_EQ(zeros({1}, kCUDA).device(), Device("cuda:0"));
}

TEST_F(CudaStream, ProducerAndConsumerAreOrderedByWhatWaits) {
  const Stream producer = stream_from_pool(), consumer = stream_from_pool();
  for (int way = 0; way < 4; ++way) {
    Tensor x = full({64}, 1, TensorOptions(kByte).device(kCUDA));
    core::synchronize(cuda_id());
    {
      StreamGuard on(producer);
      x.fill_(2);
    }
    Event ready;
    ready.record(producer);
    if (way == 1) ready.block(consumer);
    if (way == 2) consumer.wait(producer);
    if (way == 3) ready.synchronize();
    Tensor seen = pinned_bytes(64);
    {
      StreamGuard on(consumer);
      seen.copy_(x, true);
    }
    consumer.synchronize();
    EXPECT_EQ(seen[0].item<int>(), way == 0 ? 1 : 2) << way;
    producer.synchronize();
    EXPECT_TRUE(ready.query() && producer.query());
    x.fill_(3);
    EXPECT_FALSE(default_stream().query());
    default_stream().synchronize();
    EXPECT_TRUE(default_stream().query());
  }
}

TEST_F(CudaStream, MemoryWaitsForTheStreamThatItWasRecordedOn) {
  const Stream side = stream_from_pool();
  for (bool recorded : {false, true}) {
    Tensor x = full({1 << 16}, 3, TensorOptions(kByte).device(kCUDA));
    core::synchronize(cuda_id());
    Tensor seen = pinned_bytes(1 << 16);
    void* const address = x.data_ptr();
    {
      StreamGuard on(side);
      seen.copy_(x, true);
    }
    if (recorded) x.record_stream(side);
    x = Tensor();
    Tensor y = full({1 << 16}, 4, TensorOptions(kByte).device(kCUDA));
    EXPECT_EQ(y.data_ptr() == address, !recorded) << "otherwise it is reused immediately";
    core::synchronize(cuda_id());
    side.synchronize();
    if (recorded) {
      EXPECT_TRUE((seen == 3).all().item<bool>());
    }
  }
  expect_words(text_of<ValueError>([&] { ones({1}).record_stream(side); }),
               {"tensor is on cpu", "stream on cuda:0"});
}

TEST_F(CudaStream, EventsMeasureTime) {
  Event begin(kCUDA, EventFlag::BACKEND_DEFAULT), end(kCUDA, EventFlag::BACKEND_DEFAULT), plain;
  begin.record();
  const Tensor x = zeros({1 << 20}, kCUDA);
  end.record();
  EXPECT_GE(begin.elapsed_time(end), 0);
  plain.record();
  expect_words(text_of<ValueError>([&] { (void)begin.elapsed_time(plain); }), {"made with timing"});
  EXPECT_EQ(begin.device(), Device("cuda:0"));
  expect_words(text_of<ValueError>([&] { begin.record(default_stream(Device("cuda:1"))); }),
               {"cuda:0", "cuda:1"});
}

// As in another process, with the handle alone.
TEST_F(CudaStream, AnEventIsHandedToAnotherProcess) {
  const Stream producer = stream_from_pool(), consumer = stream_from_pool();
  Event mine(kCUDA, EventFlag::INTERPROCESS);
  const std::string handle = mine.ipc_handle();
  EXPECT_EQ(handle.size(), 64u);
  Event theirs(Device("cuda:0"), handle);
  Tensor x = full({64}, 1, TensorOptions(kByte).device(kCUDA)), seen = pinned_bytes(64);
  core::synchronize(cuda_id());
  {
    StreamGuard on(producer);
    x.fill_(2);
  }
  mine.record(producer);
  theirs.block(consumer);
  {
    StreamGuard on(consumer);
    seen.copy_(x, true);
  }
  consumer.synchronize();
  EXPECT_EQ(seen[0].item<int>(), 2);
  expect_words(text_of<ValueError>([] { (void)Event(kCUDA).ipc_handle(); }), {"INTERPROCESS"});
  expect_words(text_of<ValueError>([] { Event(Device("cuda:0"), "short"); }),
               {"has 64 bytes, got 5"});
  expect_words(text_of<BackendError>([] { Event(Device("cuda:0"), std::string(64, 'x')); }),
               {"opening an event failed", "cudaIpcOpenEventHandle"});
}

TEST_F(CudaStream, AStreamEndsWithItsPlugin) {
  const Stream side = stream_from_pool();
  set_current_stream(side);
  {
    Event alive;
    alive.record();
    expect_words(text_of<ValueError>([] { plugins::unload("cuda"); }), {"1 events are alive"});
  }
  plugins::unload("cuda");
  EXPECT_EQ(tenon_fake_alive(TENON_FAKE_STREAMS), 0);
  plugins::load(cuda_library());
  expect_words(text_of<ValueError>([&] { side.synchronize(); }), {"is gone", "unloaded"});
  EXPECT_EQ(current_stream(), default_stream());
}

}  // namespace
}  // namespace tenon::test
