// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Memory, copies, streams, events and peers.
#include <numeric>

#include "tenon/plugins/plugins.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaDevice = Cuda;

TEST_F(CudaDevice, PropertiesComeFromTheRuntime) {
  const tn_device_api& a = cuda_api();
  tn_device_props p{};
  p.struct_size = sizeof p;
  cuda_check(a.props(a.context, 1, &p));
  EXPECT_STREQ(p.name, "Fake 1");
  EXPECT_EQ(p.total_bytes, uint64_t{16} << 30);
  EXPECT_EQ(p.compute_units, 132u);
  EXPECT_TRUE(p.flags & TN_DEVICE_ASYNC);
  EXPECT_NE(a.props(a.context, 7, &p), TN_OK);
  EXPECT_EQ(core::device_entry(cuda_slot()).count, 2);
  expect_words(text_of([] { (void)empty({1}, Device("cuda:2")); }),
               {"device index must be below 2", "got 2"});
}

TEST_F(CudaDevice, NoKernelIsLeftOut) {
  bool found = false;
  for (const plugins::Info& info : plugins::list()) {
    if (info.name != "cuda") continue;
    found |= info.kernels > 0;
    EXPECT_TRUE(info.quarantined.empty()) << info.quarantined.front();
  }
  EXPECT_TRUE(found);
}

TEST_F(CudaDevice, TensorsGoThereAndComeBack) {
  const Tensor x = arange(1000, kFloat).view({10, 100});
  const Tensor y = x.to(kCUDA);
  EXPECT_EQ(tenon_fake_device_of(y.data_ptr()), 0);
  EXPECT_TRUE(equal(y.cpu(), x));
  EXPECT_TRUE(equal(y.t().cpu(), x.t()));
}

TEST_F(CudaDevice, ACopyToTheDeviceReadsItsSourceBeforeItReturns) {
  Tensor x = ones({64});
  Tensor y = empty({64}, kCUDA);
  y.copy_(x, true);
  x.fill_(5);
  EXPECT_TRUE(equal(y.cpu(), ones({64})));
}

TEST_F(CudaDevice, PatternsOfAnyWidthAreFilled) {
  const tn_device_api& a = cuda_api();
  for (uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    std::vector<unsigned char> pattern(width), back(width * 9);
    std::iota(pattern.begin(), pattern.end(), 1);
    core::Block b = core::cache_alloc(cuda_id(), 256, nullptr);
    cuda_check(a.fill(a.context, 0, b.handle, b.offset, pattern.data(), width, 9, nullptr));
    cuda_check(a.copy(a.context, kHost, back.data(), 0, cuda_device(0), b.handle, b.offset,
                      back.size(), nullptr));
    for (std::size_t i = 0; i < back.size(); ++i)
      ASSERT_EQ(back[i], i % width + 1) << width << ", byte " << i;
    core::cache_free(cuda_id(), b, nullptr);
  }
}

// One stream writes, another one reads; only the reader is waited for. Without the event
// it reads the old value, which shows that the fake detects a missing wait.
TEST_F(CudaDevice, AStreamWaitsForTheEventOfAnother) {
  const tn_device_api& a = cuda_api();
  void* pinned = nullptr;
  cuda_check(a.alloc_pinned(a.context, 1, &pinned));
  for (bool waits : {true, false}) {
    core::Block b = core::cache_alloc(cuda_id(), 8, nullptr);
    const unsigned char before = 1, after = 2;
    cuda_check(a.fill(a.context, 0, b.handle, b.offset, &before, 1, 1, nullptr));
    cuda_check(a.sync(a.context, 0, nullptr));
    {
      OnStream writer, reader(0, -1);
      tn_event* e = nullptr;
      cuda_check(a.event_create(a.context, 0, 0, &e));
      cuda_check(a.fill(a.context, 0, b.handle, b.offset, &after, 1, 1, writer.get()));
      cuda_check(a.event_record(a.context, 0, e, writer.get()));
      int32_t done = 1;
      if (waits) cuda_check(a.event_wait(a.context, 0, e, reader.get()));
      cuda_check(
          a.copy(a.context, kHost, pinned, 0, cuda_device(0), b.handle, b.offset, 1, reader.get()));
      cuda_check(a.sync(a.context, 0, reader.get()));
      EXPECT_EQ(*static_cast<unsigned char*>(pinned), waits ? after : before);
      cuda_check(a.sync(a.context, 0, writer.get()));
      cuda_check(a.event_query(a.context, 0, e, &done));
      EXPECT_EQ(done, 1);
      a.event_destroy(a.context, 0, e);
    }
    core::cache_free(cuda_id(), b, nullptr);
  }
  a.free_pinned(a.context, pinned, 1);
}

TEST_F(CudaDevice, EventsMeasureTime) {
  const tn_device_api& a = cuda_api();
  tn_event *begin = nullptr, *end = nullptr;
  cuda_check(a.event_create(a.context, 0, 0, &begin));
  cuda_check(a.event_create(a.context, 0, 0, &end));
  double ms = -1;
  EXPECT_EQ(a.event_elapsed(a.context, 0, begin, end, &ms), TN_ERROR_VALUE);
  cuda_check(a.event_record(a.context, 0, begin, nullptr));
  const Tensor x = on_cuda(zeros({1 << 20}));
  cuda_check(a.event_record(a.context, 0, end, nullptr));
  cuda_check(a.event_elapsed(a.context, 0, begin, end, &ms));
  EXPECT_GE(ms, 0);
  a.event_destroy(a.context, 0, begin);
  a.event_destroy(a.context, 0, end);
}

TEST_F(CudaDevice, TheNativeStreamIsTheRuntimes) {
  const tn_device_api& a = cuda_api();
  OnStream s;
  EXPECT_NE(a.native_stream(a.context, 0, s.get()), a.native_stream(a.context, 0, nullptr));
  EXPECT_NE(a.native_stream(a.context, 0, nullptr), a.native_stream(a.context, 1, nullptr));
  EXPECT_NE(a.native_stream(a.context, 0, nullptr), nullptr)
      << "the legacy stream cannot be captured";
}

TEST_F(CudaDevice, ACopyBetweenDevicesComesAfterTheWorkOfBoth) {
  const Tensor x = arange(4096, kFloat);
  OnStream there(1), here(0);
  Tensor a = x.to(Device("cuda:0"), kFloat);
  Tensor b = a.to(Device("cuda:1"));
  EXPECT_EQ(tenon_fake_device_of(b.data_ptr()), 1);
  Tensor back = b.to(Device("cuda:0"));
  a = Tensor();
  b = Tensor();  // their memory may only be reused after the copies
  EXPECT_TRUE(equal(back.cpu(), x));
  EXPECT_EQ(tenon_fake_calls("cudaMemcpyPeerAsync"), 2);
  EXPECT_LE(tenon_fake_calls("cudaDeviceEnablePeerAccess"), 2);
}

TEST_F(CudaDevice, TheCurrentDeviceOfTheThreadIsLeftAlone) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const Tensor x = on_cuda(zeros({8}), "cuda:1");
  (void)x.cpu();
  int now = -1;
  ASSERT_EQ(cudaGetDevice(&now), cudaSuccess);
  EXPECT_EQ(now, 0);
}

}  // namespace
}  // namespace tenon::test
