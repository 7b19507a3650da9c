// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Capture and replay.
#include "tenon/graph.h"

#include "tenon/core/dispatch.h"
#include "tests/cuda/support.h"
#include "tests/cuda/training.h"

namespace tenon::test {
namespace {

using CudaGraph = Cuda;

void write(const Tensor& t, unsigned char value) {
  const tn_device_api& a = cuda_api();
  core::check_device(cuda_id(), "fill",
                     a.fill(a.context, 0, t.data_ptr(), 0, &value, 1, t.nbytes(),
                            core::current_stream(cuda_id())));
}

void move(const Tensor& to, const Tensor& from) {
  const tn_device_api& a = cuda_api();
  core::check_device(cuda_id(), "copy",
                     a.copy(a.context, cuda_device(0), to.data_ptr(), 0, cuda_device(0),
                            from.data_ptr(), 0, from.nbytes(), core::current_stream(cuda_id())));
}

Tensor bytes(int64_t n) { return empty({n}, TensorOptions(kByte).device(kCUDA)); }
Tensor host(int64_t n, int value) { return full({n}, value, kByte); }

TEST_F(CudaGraph, AStepOfTrainingIsReplayed) { replay_a_step_of_training(); }
TEST_F(CudaGraph, AStepOfTrainingByAdamIsReplayed) { replay_a_step_of_training(of_relu, by_adam); }

// As in a training step: inputs keep their addresses, results are the graph's.
TEST_F(CudaGraph, AReplayComputesWithNewValues) {
  for (bool own_stream : {false, true}) {
    std::optional<OnStream> on;
    if (own_stream) on.emplace();
    Tensor x = bytes(1000), y;
    write(x, 1);
    Graph g;
    g.capture_begin();
    EXPECT_TRUE(core::is_capturing(cuda_id()));
    {
      const Tensor between = bytes(1000);
      move(between, x);
      y = bytes(1000);
      move(y, between);
    }
    g.capture_end();
    EXPECT_FALSE(core::is_capturing(cuda_id()));
    for (int value = 2; value < 5; ++value) {
      write(x, static_cast<unsigned char>(value));
      g.replay();
      EXPECT_TRUE(equal(y.cpu(), host(1000, value))) << value;
    }
  }
}

// Replays write where the capture wrote, so that memory must not be reused meanwhile.
TEST_F(CudaGraph, ItsMemoryIsItsOwnUntilReset) {
  Graph g;
  std::vector<void*> inside;
  g.capture_begin();
  for (int i = 0; i < 8; ++i) {
    Tensor t = bytes(5 << 20);
    write(t, 7);
    inside.push_back(t.data_ptr());
  }
  g.capture_end();
  EXPECT_EQ(inside[0], inside[7]) << "within one capture a freed block serves again";
  core::cache_trim(cuda_id());
  const uint64_t kept = tenon_fake_bytes();
  EXPECT_GE(kept, uint64_t{5} << 20);
  std::vector<Tensor> others;
  for (int i = 0; i < 6; ++i) {
    others.push_back(bytes(5 << 20));
    write(others.back(), 1);
  }
  g.replay();
  for (const Tensor& t : others) EXPECT_TRUE(equal(t.cpu(), host(5 << 20, 1)));
  others.clear();
  g.reset();
  core::cache_trim(cuda_id());
  EXPECT_LT(tenon_fake_bytes(), kept);
}

TEST_F(CudaGraph, ATensorOutlivesItsGraph) {
  Tensor y;
  {
    Graph g;
    g.capture_begin();
    y = bytes(64);
    write(y, 3);
    g.capture_end();
    g.replay();
  }
  EXPECT_TRUE(equal(y.cpu(), host(64, 3)));
}

TEST_F(CudaGraph, ABlockUsedOnAnotherStreamIsNotUsedAgainInTheCapture) {
  OnStream other;
  core::set_current_stream(cuda_id(), nullptr);
  Graph g;
  g.capture_begin();
  core::Block a = core::cache_alloc(cuda_id(), 4096, nullptr);
  core::cache_record_stream(cuda_id(), a, other.get());
  core::cache_free(cuda_id(), a, nullptr);
  core::Block b = core::cache_alloc(cuda_id(), 4096, nullptr);
  EXPECT_NE(a.offset, b.offset);
  core::cache_free(cuda_id(), b, nullptr);
  g.capture_end();
}

// What cannot be captured is refused by name before it reaches the device, so the capture goes on.
TEST_F(CudaGraph, WhatNeedsTheHostIsRefusedByName) {
  const Tensor x = on_cuda(ones({16})), there = on_cuda(zeros({16}));
  Graph g;
  g.capture_begin();
  expect_words(text_of<NotImplementedError>([&] { (void)x.cpu(); }),
               {"copy", "captured in a graph of cuda:0"});
  expect_words(text_of<NotImplementedError>([&] { (void)nonzero(x); }), {"nonzero", "captured"});
  expect_words(text_of<NotImplementedError>([&] { (void)x.sum().item(); }),
               {"captured in a graph"});
  expect_words(text_of<NotImplementedError>([&] { core::synchronize(cuda_id()); }),
               {"synchronize", "captured"});
  expect_words(text_of<ValueError>([&] { Graph().capture_begin(); }),
               {"capturing a graph already"});
  move(there, x);
  EXPECT_TRUE(equal(ones({3}) + ones({3}), full({3}, 2.))) << "the host is not part of it";
  g.capture_end();
  g.replay();
  EXPECT_TRUE(equal(there.cpu(), ones({16})));
}

// A replay draws what the same calls would draw at that time.
TEST_F(CudaGraph, RandomNumbersDifferPerReplay) {
  const Tensor x = ones({100}, kCUDA);
  Generator own = make_generator(Device("cuda:0"), 7);
  auto step = [&] {
    return std::vector<Tensor>{rand({5}, kCUDA), dropout(x, 0.5, true),
                               empty({7}, kCUDA).normal_(0, 1, own)};
  };
  manual_seed(3);
  std::vector<std::vector<Tensor>> expected;
  for (int i = 0; i < 3; ++i) {
    expected.push_back(step());
    for (Tensor& t : expected.back()) t = t.cpu();
    if (i == 1) manual_seed(4);  // after the second, and a replay obeys it, too
  }
  manual_seed(3);
  own.set_current_seed(7);
  Graph g;
  g.capture_begin();
  const std::vector<Tensor> y = step();
  g.capture_end();
  for (int i = 0; i < 3; ++i) {
    g.replay();
    for (std::size_t k = 0; k < y.size(); ++k)
      EXPECT_TRUE(equal(y[k].cpu(), expected[i][k])) << i << " " << k;
    if (i == 1) manual_seed(4);
  }
}

TEST_F(CudaGraph, MisuseIsNamed) {
  expect_words(text_of<NotImplementedError>([] { Graph g(kCPU); }),
               {"device 'cpu' cannot capture graphs"});
  Graph g;
  expect_words(text_of<ValueError>([&] { g.replay(); }), {"nothing was captured"});
  expect_words(text_of<ValueError>([&] { g.capture_end(); }), {"no capture was begun"});
  g.capture_begin();
  g.capture_end();
  expect_words(text_of<ValueError>([&] { g.capture_begin(); }), {"reset() it first"});
  expect_words(text_of<ValueError>([&] { plugins::unload("cuda"); }),
               {"1 captured graphs are alive"});
}

TEST_F(CudaGraph, AnAbandonedCaptureEnds) {
  try {
    Graph g;
    g.capture_begin();
    throw std::runtime_error("in the middle");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(core::is_capturing(cuda_id()));
  EXPECT_TRUE(equal(on_cuda(ones({8})).cpu(), ones({8})));
}

// Whichever call of it fails, the capture ends, and the next one works.
TEST_F(CudaGraph, EachCallFailsOnce) {
  const auto work = [] {
    const Tensor x = bytes(256);
    write(x, 4);
    Graph g;
    g.capture_begin();
    const Tensor y = bytes(3 << 20);
    write(y, 5);
    move(y, x);
    g.capture_end();
    g.replay();
    TENON_CHECK(equal(y.slice(0, 0, 256).cpu(), host(256, 4)), Error,
                "the replay failed to copy on cuda");
  };
  work();
  core::cache_trim(cuda_id());
  const uint64_t before = tenon_fake_bytes();
  int n = 1, raised = 0;
  for (;; ++n) {
    const int64_t injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    const std::string text = text_of<std::exception>(work);
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    if (!hit) break;
    raised += !text.empty();
    EXPECT_TRUE(text.empty() || has(text, "failed")) << n << ": " << text;
    EXPECT_FALSE(core::is_capturing(cuda_id()));
    core::synchronize(cuda_id());
    core::cache_trim(cuda_id());
    EXPECT_EQ(tenon_fake_bytes(), before) << n;
    EXPECT_EQ(tenon_fake_alive(TENON_FAKE_GRAPHS), 0) << n;
    EXPECT_EQ(text_of<std::exception>(work), "") << "after a failure of call " << n;
    core::cache_trim(cuda_id());
  }
  printf("%d calls failed, %d of them raised an error\n", n - 1, raised);
  EXPECT_GE(n, 20);
}

}  // namespace
}  // namespace tenon::test
