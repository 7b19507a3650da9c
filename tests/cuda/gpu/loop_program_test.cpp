// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Functions that tenon::compile() fuses, by NVRTC on a device, against their operators.
#include <dlfcn.h>
#include <tenon/jit/compile.h>

#include <chrono>

#include "tenon/core/dispatch.h"
#include "tenon/graph.h"
#include "tests/cuda/gpu/gpu.h"

namespace tenon::test {
namespace {

class GpuLoopProgram : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (!has_nvrtc()) GTEST_SKIP() << "NVRTC is not installed";
    core::reset_fallback_counts();
  }
  static bool has_nvrtc() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"})
      if (dlopen(name, RTLD_NOW | RTLD_LOCAL)) return true;
    return false;
  }
  static void expect_no_fallback() {
    for (const core::FallbackCount& it : core::fallback_counts())
      EXPECT_NE(it.op, "_loop_program_") << it.reason;
  }
};

Tensor chain(const Tensor& x, const Tensor& b) { return ((x + b) * 0.5 - x).relu().sqrt(); }

int programs_run = 0;
void count_programs(void*, const core::Op& op, core::DeviceSlot, int64_t, int64_t) {
  programs_run += std::string_view(op.name) == "_loop_program_";
}

TEST_F(GpuLoopProgram, AFusedFunctionHasTheBitsOfItsOperators) {
  const auto compiled = compile(chain);
  programs_run = 0;
  core::set_kernel_observer(count_programs, nullptr);
  for (const int64_t n : {1000, 1000, 1000, 1001, 4000}) {
    const Tensor x = randn({n, 1000}).to(kCUDA), b = randn({1000}).to(kCUDA);
    EXPECT_TRUE(equal(compiled(x, b).cpu(), chain(x, b).cpu())) << n;
  }
  core::set_kernel_observer(nullptr, nullptr);
  EXPECT_GT(programs_run, 0);
  expect_no_fallback();
}

TEST_F(GpuLoopProgram, FunctionsAreWithinRounding) {
  const auto f = [](const Tensor& x) {
    return (x.tanh() + x.sigmoid().log() * (x.abs() + 1).rsqrt()).exp();
  };
  const auto compiled = compile(f);
  const Tensor x = randn({1000, 1000}).to(kCUDA);
  for (int call = 0; call < 3; ++call)
    EXPECT_TRUE(allclose(compiled(x).cpu(), f(x).cpu(), 1e-5, 1e-6));
  expect_no_fallback();
}

TEST_F(GpuLoopProgram, ACapturedOneIsReplayed) {
  const auto compiled = compile(chain);
  const Tensor x = randn({1000, 1000}).to(kCUDA), b = randn({1000}).to(kCUDA);
  for (int call = 0; call < 3; ++call) (void)compiled(x, b);
  Graph g;
  g.capture_begin();
  const Tensor y = compiled(x, b);
  g.capture_end();
  for (int replay = 0; replay < 3; ++replay) {
    x.normal_();
    g.replay();
    EXPECT_TRUE(equal(y.cpu(), chain(x, b).cpu())) << replay;
  }
  expect_no_fallback();
}

// As no operator has compiled it before.
TEST_F(GpuLoopProgram, OneIsCompiledDuringACapture) {
  const std::string text =
      "loops 1\nsize N\ninput x float32 [N]\noutput y float32 [N]\nfor i < N\n%0 = read x [i]\n"
      "%1 = const float32 3.5\n%2 = mul %0 %1\ny [i] = %2\n";
  const Tensor x = ones({100000}, kCUDA);
  Graph g;
  g.capture_begin();
  const Tensor y = _loop_program({x}, text)[0];
  g.capture_end();
  for (const float value : {2.F, 4.F}) {
    x.fill_(value);
    g.replay();
    EXPECT_TRUE(equal(y.cpu(), full({100000}, value * 3.5F)));
  }
}

// Prints times of which only the order is expected, and that with room: a fused chain reads and
// writes once what five operators read and write five times.
TEST_F(GpuLoopProgram, AChainOfFiveIsNotSlowerThanItsOperators) {
  const auto compiled = compile(chain);
  const Tensor x = randn({4096, 4096}).to(kCUDA), b = randn({4096}).to(kCUDA);
  const auto milliseconds = [&](const auto& f) {
    for (int call = 0; call < 5; ++call) (void)f(x, b);
    (void)x.slice(0, 0, 1).cpu();  // waits
    constexpr int kCalls = 50;
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) (void)f(x, b);
    (void)x.slice(0, 0, 1).cpu();
    const std::chrono::duration<double, std::milli> all = std::chrono::steady_clock::now() - begin;
    return all.count() / kCalls;
  };
  const double fused = milliseconds(compiled), operators = milliseconds(chain);
  printf("five operators on 4096 x 4096 float32: %.3f ms, fused %.3f ms (%.0f GB/s)\n", operators,
         fused, 2 * 4 * 4096. * 4096. / fused * 1e-6);
  EXPECT_LT(fused, operators * 1.2);
  expect_no_fallback();
}

}  // namespace
}  // namespace tenon::test
