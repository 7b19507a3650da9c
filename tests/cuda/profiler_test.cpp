// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Times of the device beside those of the host.
#include "tenon/profiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

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

// The tool is loaded at the first range of the process.
TEST_F(CudaProfiler, EmitsRangesToATool) {
  setenv("NVTX_INJECTION64_PATH", TENON_FAKE_NVTX_TOOL, 1);
  const Tensor x = ones({2, 3}, TensorOptions(kFloat).device(Device(kCUDA)));
  {
    autograd::profiler::EmitRanges ranges(Device(kCUDA), true);
    x.add(x);
  }
  void* tool = dlopen(TENON_FAKE_NVTX_TOOL, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(tool, nullptr);
  const auto heard = reinterpret_cast<const char* (*)()>(dlsym(tool, "fake_nvtx_heard"));
  const auto forget = reinterpret_cast<void (*)()>(dlsym(tool, "fake_nvtx_forget"));
  ASSERT_TRUE(heard && forget);
  EXPECT_NE(std::string(heard()).find("add.Tensor, sizes = [[2, 3], [2, 3]]("), std::string::npos)
      << heard();
  EXPECT_EQ(std::string(heard()).back(), ')');
  forget();
  x.add(x);
  EXPECT_STREQ(heard(), "");
  {
    autograd::profiler::EmitRanges ranges{Device(kCUDA)};
    TENON_RECORD_USER_SCOPE("step");
    x.exp();
  }
  EXPECT_EQ(std::string(heard()).rfind("step(", 0), 0u) << heard();
  EXPECT_NE(std::string(heard()).find("exp("), std::string::npos) << heard();
  dlclose(tool);
}

TEST_F(CudaProfiler, TheHostHasNoRanges) {
  expect_words(text_of<ValueError>([] { autograd::profiler::EmitRanges ranges{Device(kCPU)}; }),
               {"EmitRanges", "CPU"});
}

}  // namespace
}  // namespace tenon::test
