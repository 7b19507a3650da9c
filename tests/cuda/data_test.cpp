// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batches of a loader that come on the device, and how much of their copies the work hides.
#include "tenon/data.h"

#include <stdexcept>

#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using data::DataLoaderOptions;
using data::make_data_loader;
using data::samplers::SequentialSampler;

constexpr int64_t kBatches = 40, kRows = 64, kColumns = 1024;  // 256 KiB a batch

// Rows whose elements are their index; one may be broken.
struct Rows : data::datasets::BatchDataset<Rows, Tensor> {
  explicit Rows(int64_t broken = -1) : broken(broken) {}
  Tensor get_batch(ArrayRef<std::size_t> indices) override {
    const auto first = static_cast<int64_t>(indices[0]);
    if (first == broken) throw std::out_of_range("a broken row");
    return arange(first, first + kRows, kFloat).unsqueeze(1).repeat({1, kColumns});
  }
  std::optional<std::size_t> size() const override { return kBatches * kRows; }
  int64_t broken;
};

struct CudaData : Cuda {
  // A step of training takes 2 ms, a batch's copy 1 ms.
  static void begin_timeline() { tenon_fake_timeline(/*launch_ms=*/1, /*megabyte_ms=*/4); }
  static double hidden() {
    synchronize();
    const tenon_fake_times t = tenon_fake_timeline_end();
    tenon_fake_timeline(0, 0);
    EXPECT_DOUBLE_EQ(t.copies_ms, kBatches) << "of batches alone";
    EXPECT_DOUBLE_EQ(t.kernels_ms, 2 * kBatches);
    return 1 - (t.end_ms - t.kernels_ms) / t.copies_ms;
  }
  static void synchronize() { core::synchronize(cuda_id()); }
  static void step(const Tensor& x) { x.mul_(2).add_(1); }
};

TEST_F(CudaData, BatchesComeOnTheDevice) {
  auto loader = make_data_loader<SequentialSampler>(
      Rows(), DataLoaderOptions(kRows).workers(2).device(Device(kCUDA)));
  for (int epoch = 0; epoch < 2; ++epoch) {
    int64_t first = 0;
    for (const Tensor& batch : *loader) {
      EXPECT_EQ(batch.device(), Device("cuda:0"));
      EXPECT_TRUE(batch.cpu().equal(Rows().get_batch({static_cast<std::size_t>(first)})));
      first += kRows;
    }
    EXPECT_EQ(first, kBatches * kRows);
  }
}

TEST_F(CudaData, ABrokenBatchIsToldAtItsTurn) {
  auto loader = make_data_loader<SequentialSampler>(Rows(2 * kRows),
                                                    DataLoaderOptions(kRows).device(Device(kCUDA)));
  auto it = loader->begin();
  EXPECT_EQ(it->cpu()[0][0].item<float>(), 0);
  ++it;
  EXPECT_EQ(it->cpu()[0][0].item<float>(), kRows);
  EXPECT_THROW(++it, std::out_of_range);
  ++it;
  EXPECT_EQ(it->cpu()[0][0].item<float>(), 3 * kRows);
}

// At least 80 %, also where every step waits for the device, as one that prints its loss does.
TEST_F(CudaData, WorkHidesTheCopies) {
  for (const bool waits : {false, true}) {
    for (const int workers : {0, 2}) {
      auto loader = make_data_loader<SequentialSampler>(
          Rows(), DataLoaderOptions(kRows).workers(workers).device(Device(kCUDA)));
      begin_timeline();
      for (const Tensor& batch : *loader) {
        step(batch);
        if (waits) synchronize();
      }
      EXPECT_GT(hidden(), 0.8) << "workers " << workers << ", waits " << waits;
    }
  }
}

TEST_F(CudaData, CopiesOnTheStreamOfTheWorkAreNotHidden) {
  auto loader = make_data_loader<SequentialSampler>(
      Rows(), DataLoaderOptions(kRows).workers(2).pin_memory(true));
  begin_timeline();
  for (const Tensor& batch : *loader) step(batch.to(kCUDA, /*non_blocking=*/true));
  EXPECT_NEAR(hidden(), 0, 1e-9);
}

}  // namespace
}  // namespace tenon::test
