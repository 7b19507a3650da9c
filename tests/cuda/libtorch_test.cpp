// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A program with libtorch's names for CUDA.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/torch.h>

#include "tests/cuda/support.h"

namespace {

using CudaLibtorch = tenon::test::Cuda;

TEST_F(CudaLibtorch, StreamsAndEvents) {
  at::cuda::CUDAStream side = at::cuda::getStreamFromPool(/*high_priority=*/true);
  const cudaStream_t raw = side;
  EXPECT_EQ(raw, side.stream());
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault), ready;
  torch::Tensor x;
  {
    at::cuda::CUDAStreamGuard on(side);
    EXPECT_EQ(at::cuda::getCurrentCUDAStream(), side);
    begin.record();
    x = torch::ones({4}, torch::kCUDA) * 2;
    ready.record(side);
    end.record();
  }
  ready.block(at::cuda::getCurrentCUDAStream());
  x.record_stream(at::cuda::getDefaultCUDAStream());
  EXPECT_EQ((x + 1).sum().item<float>(), 12);
  end.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_GE(begin.elapsed_time(end), 0);
  c10::Stream plain = at::cuda::getDefaultCUDAStream().unwrap();
  EXPECT_EQ(plain.device_type(), torch::kCUDA);
  plain.synchronize();
  torch::cuda::synchronize();
}

TEST_F(CudaLibtorch, Guards) {
  c10::cuda::CUDAGuard on(1);
  EXPECT_EQ(on.original_device(), torch::Device("cuda:0"));
  EXPECT_EQ(on.current_device(), torch::Device("cuda:1"));
  c10::cuda::OptionalCUDAGuard unset;
  unset.set_index(0);
  EXPECT_EQ(on.current_device(), torch::Device("cuda:0"));
  unset.reset();
  EXPECT_EQ(on.current_device(), torch::Device("cuda:1"));
}

TEST_F(CudaLibtorch, Graphs) {
  torch::Tensor x = torch::ones({4}, torch::kCUDA), y;
  at::cuda::CUDAGraph g;
  g.capture_begin();
  y = x * 2;
  g.capture_end();
  x.fill_(5);
  g.replay();
  EXPECT_EQ(y.sum().item<float>(), 40);
}

TEST_F(CudaLibtorch, LibrariesOfThePlugin) {
  EXPECT_EQ(torch::cuda::cudnn_is_available(), TENON_TEST_CUDNN != 0);
  EXPECT_EQ(at::globalContext().hasCuDNN(), TENON_TEST_CUDNN != 0);
}

TEST_F(CudaLibtorch, MemoryThatIsKept) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const auto bytes = [](const auto& stats) { return stats[0].current; };
  const auto before = allocator::getDeviceStats(0);
  auto x = torch::ones({1 << 22}, torch::Device("cuda:0"));
  const auto held = allocator::getDeviceStats(0);
  EXPECT_GE(bytes(held.allocated_bytes), bytes(before.allocated_bytes) + (4 << 22));
  EXPECT_GE(held.allocated_bytes[0].peak, bytes(held.allocated_bytes));
  x.reset();
  torch::cuda::synchronize();
  const auto kept = allocator::getDeviceStats(0);
  EXPECT_EQ(bytes(kept.reserved_bytes), bytes(held.reserved_bytes));
  allocator::emptyCache();
  EXPECT_LT(bytes(allocator::getDeviceStats(0).reserved_bytes), bytes(kept.reserved_bytes));
}

}  // namespace
