// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// How compiled loop programs are kept, captured and unloaded; what they compute is compared by
// tests/loop_program/on_device.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tenon/graph.h"
#include "tenon/ops/loop_program.gen.h"
#include "tests/cuda/fault.h"

namespace tenon::test {
namespace {

class CudaLoopProgram : public Cuda {
 protected:
  void SetUp() override {
    setenv("TENON_CUDA_CACHE", "0", 1);
    Cuda::SetUp();
  }
  static int64_t compilations() { return tenon_fake_calls("nvrtcCompileProgram"); }
  static int64_t loaded() { return tenon_fake_alive(TENON_FAKE_HANDLES); }
  // With at most `n` programs, while this lives.
  static void restart_with(const char* n) {
    setenv("TENON_CUDA_PROGRAMS", n, 1);
    restart();
    unsetenv("TENON_CUDA_PROGRAMS");
  }
  static std::string why_left() {
    for (const core::FallbackCount& it : core::fallback_counts())
      if (it.op == "_loop_program_") return it.reason.empty() ? "?" : it.reason;
    return "";
  }
};

// x times k, by way of a temporary. Each k is a program of its own.
std::string times(int k) {
  return "loops 1\nsize N\ninput x float32 [N]\ntemp t float32 [N]\noutput y float32 [N]\n"
         "for i < N\n%0 = read x [i]\n%1 = const float32 " +
         std::to_string(k) +
         "\n%2 = mul %0 %1\nt [i] = %2\n"
         "for i < N\n%0 = read t [i]\ny [i] = %0\n";
}
Tensor run(const Tensor& x, int k) { return _loop_program({x}, times(k))[0]; }
void expect_times(const Tensor& y, int k, float value = 2) {
  EXPECT_TRUE(equal(y.cpu(), full(y.sizes(), value * static_cast<float>(k)))) << "times " << k;
}
Tensor twos(const char* device = "cuda") { return on_cuda(full({1000}, 2.F), device); }

TEST_F(CudaLoopProgram, OneIsCompiledOncePerDevice) {
  restart();
  const Tensor x = twos(), other = twos("cuda:1");
  core::reset_fallback_counts();
  for (int call = 0; call < 3; ++call) {
    expect_times(run(x, 3), 3);
    expect_times(run(x.slice(0, 0, 500).expand({500}), 3), 3);
    expect_times(run(other, 3), 3);
  }
  EXPECT_EQ(compilations(), 2);
  EXPECT_EQ(why_left(), "");
}

TEST_F(CudaLoopProgram, NoneIsCompiledWhereThatIsSet) {
  restart_with("0");
  core::reset_fallback_counts();
  expect_times(run(twos(), 3), 3);
  EXPECT_EQ(compilations(), 0);
  EXPECT_NE(why_left(), "");
  restart();
}

// Also one that is compiled during the capture.
TEST_F(CudaLoopProgram, ACapturedOneIsReplayed) {
  restart();
  const Tensor x = twos();
  expect_times(run(x, 3), 3);
  Graph g;
  g.capture_begin();
  const Tensor before = run(x, 3), during = run(x, 4);
  g.capture_end();
  EXPECT_EQ(compilations(), 2);
  for (const float value : {2.F, 5.F}) {
    x.fill_(value);
    g.replay();
    expect_times(before, 3, value);
    expect_times(during, 4, value);
  }
}

// The fake ends the process if a kernel is unloaded that a stream or a graph will run.
TEST_F(CudaLoopProgram, UnusedOnesAreUnloadedWhenThereAreTooMany) {
  restart_with("2");
  {
    const Tensor x = twos();
    expect_times(run(x, 1), 1);
    Graph g;
    g.capture_begin();
    const Tensor captured = run(x, 2);
    for (int k = 3; k < 6; ++k) (void)run(x, k);  // nothing is unloaded meanwhile
    g.capture_end();
    const int64_t kept = loaded();
    std::vector<Tensor> queued;
    for (int k = 6; k < 10; ++k) queued.push_back(run(x, k));
    EXPECT_LE(loaded(), kept + 1);
    for (int k = 6; k < 10; ++k) expect_times(queued[static_cast<std::size_t>(k - 6)], k);
    g.replay();
    expect_times(captured, 2);
    const int64_t before = compilations();
    expect_times(run(x, 1), 1);
    EXPECT_EQ(compilations(), before + 1) << "the first one was unloaded";
  }
  restart();
}

TEST_F(CudaLoopProgram, CodeIsKeptOnDisk) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tenon_cuda_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  setenv("TENON_CUDA_CACHE", folder.c_str(), 1);
  const auto compiled = [] {
    restart();
    expect_times(run(twos(), 3), 3);
    return compilations();
  };
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(compiled(), 0);
  for (const auto& it : std::filesystem::directory_iterator(folder))
    std::ofstream(it.path(), std::ios::app) << "damage";
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(compiled(), 0);
  setenv("TENON_CUDA_CACHE", "0", 1);
  std::filesystem::remove_all(folder);
}

TEST_F(CudaLoopProgram, EachCallFailsOnce) {
  for (int n = 1;; ++n) {
    ASSERT_LT(n, 80);
    restart();  // else the program would not be compiled
    {
      const Tensor x = twos();
      const int64_t injected = tenon_fake_injected();
      tenon_fake_fail(n, cudaErrorInvalidValue);
      const std::string text = text_of<std::exception>([&] { (void)run(x, 3).cpu(); });
      const bool hit = tenon_fake_injected() > injected;
      tenon_fake_fail(0, 0);
      EXPECT_TRUE(text.empty() || has(text, "failed")) << n << ": " << text;
      expect_times(run(x, 3), 3);
      if (!hit) break;
    }
    trim();
    plugins::unload("cuda");
    EXPECT_EQ(alive(), 0) << n;
    plugins::load(cuda_library());
  }
}

}  // namespace
}  // namespace tenon::test
