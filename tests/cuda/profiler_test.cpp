// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Times of the device beside those of the host.
#include "tenon/profiler.h"

#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaProfiler = Cuda;
using autograd::profiler::Profile;
using autograd::profiler::Profiler;
using autograd::profiler::ProfilerOptions;

TEST_F(CudaProfiler, HasTheTimesOfTheDevice) {
  const Tensor x = ones({4, 4}, TensorOptions(kFloat).device(Device(kCUDA)));
  Profiler profiler(ProfilerOptions().device(Device(kCUDA)));
  x.mm(x).exp();
  const Profile p = profiler.stop();
  ASSERT_GE(p.events.size(), 2u);
  for (const auto& e : p.events) {
    ASSERT_TRUE(e.device_ms.has_value()) << e.name;
    EXPECT_GE(*e.device_ms, 0) << e.name;
  }
  expect_words(p.table(), {"device ms", "mm", "exp"});
}

}  // namespace
}  // namespace tenon::test
