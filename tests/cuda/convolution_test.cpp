// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions: by an allowed plan of cuDNN, otherwise by the plugin's own kernel. No failing call
// leaks.
#include <cudnn.h>

#include "tenon/core/dispatch.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaConvolution = Cuda;

Tensor integers(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(n, kLong).mul(3).remainder(5).sub(2).to(kFloat).view(sizes);
}

TEST_F(CudaConvolution, WithoutAPlanThePluginsKernelIsUsed) {
  const Tensor x = integers({2, 4, 7, 6}), w = integers({6, 2, 3, 3}), b = integers({6});
  const int64_t asked = tenon_fake_calls("cudnn");
  EXPECT_TRUE(equal(conv2d(x.to(kCUDA), w.to(kCUDA), b.to(kCUDA), 2, 1, 1, 2).cpu(),
                    conv2d(x, w, b, 2, 1, 1, 2)));
  EXPECT_GT(tenon_fake_calls("cudnn"), asked) << "cuDNN was not asked";
  const int64_t again = tenon_fake_calls("cudnn");
  (void)conv2d(x.to(kCUDA), w.to(kCUDA), b.to(kCUDA), 2, 1, 1, 2);
  EXPECT_EQ(tenon_fake_calls("cudnn"), again) << "a refusal is cached";
}

TEST_F(CudaConvolution, GradientsToo) {
  const auto gradients = [](Device device) {
    Tensor x = integers({2, 3, 8}).to(device).requires_grad_(),
           w = integers({4, 3, 3}).to(device).requires_grad_(),
           b = integers({4}).to(device).requires_grad_();
    const Tensor y = conv1d(x, w, b);
    y.backward(integers({2, 4, 6}).to(device));
    return std::vector<Tensor>{x.grad().cpu(), w.grad().cpu(), b.grad().cpu()};
  };
  const auto here = gradients(kCPU), there = gradients(kCUDA);
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(equal(there[i], here[i])) << i;
}

// Descriptors and handles are released wherever building a plan fails.
TEST_F(CudaConvolution, EachCallFailsOnce) {
  const Tensor x = integers({1, 2, 5, 5}).to(kCUDA);
  int n = 1, raised = 0;
  int64_t handles = -1;
  for (;; ++n) {
    const Tensor w = integers({1, 2, 1 + n % 2, 1}).to(kCUDA);
    const int64_t injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    // The size differs each time, so that no plan is known yet.
    const std::string text = text_of<std::exception>([&] {
      (void)conv2d(x.repeat({1, 1, n, 1}), w).cpu();
    });
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    raised += !text.empty();
    EXPECT_TRUE(text.empty() || has(text, "failed")) << text;
    if (handles < 0 && tenon_fake_alive(TENON_FAKE_HANDLES) > 0 && n > 40)
      handles = tenon_fake_alive(TENON_FAKE_HANDLES);
    if (handles >= 0) {
      EXPECT_EQ(tenon_fake_alive(TENON_FAKE_HANDLES), handles) << n << ": " << text;
    }
    if (!hit) break;
    ASSERT_LT(n, 500);
  }
  printf("%d calls failed, %d of them raised an error\n", n - 1, raised);
  EXPECT_GE(raised, 30);
}

// A cuDNN with engines; each test starts without a plan.
class CudaPlans : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    restart();
    (void)zeros({1}, kCUDA);
  }
  void TearDown() override {
    core::set_deterministic(false);
    tenon_fake_engines(nullptr, 0);
    unsetenv("TENON_CONV_BENCHMARK");
    restart();
    (void)zeros({1}, kCUDA);
    Cuda::TearDown();
  }
  template <std::size_t N>
  static void offer(const tenon_fake_engine (&engines)[N]) {
    tenon_fake_engines(engines, N);
  }
  static void measure() {
    setenv("TENON_CONV_BENCHMARK", "1", 1);
    restart();
    (void)zeros({1}, kCUDA);
  }
  static std::vector<int64_t> runs(int n) {
    std::vector<int64_t> out;
    out.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) out.push_back(tenon_fake_engine_runs(i));
    return out;
  }
};

using Runs = std::vector<int64_t>;

struct Shape {
  std::vector<int64_t> x, w, stride, padding, dilation;
  bool transposed;
  int64_t groups;
};

std::vector<Tensor> convolved(const Shape& s, Device device, ScalarType dtype) {
  const auto leaf = [&](IntArrayRef sizes) {
    return integers(sizes).to(dtype).to(device).requires_grad_();
  };
  Tensor x = leaf(s.x), w = leaf(s.w), b = leaf({s.transposed ? s.w[1] * s.groups : s.w[0]});
  const std::vector<int64_t> none(s.stride.size(), 0);
  const Tensor y =
      convolution(x, w, b, s.stride, s.padding, s.dilation, s.transposed, none, s.groups);
  y.backward(integers(y.sizes()).to(dtype).to(device));
  return {y.detach().cpu(), x.grad().cpu(), w.grad().cpu(), b.grad().cpu()};
}

TEST_F(CudaPlans, ComputeWhatTheHostDoes) {
  offer({{-1, 0, 64, false}});
  const Shape shapes[] = {
      {{2, 4, 7, 6}, {6, 2, 3, 3}, {2, 1}, {1, 0}, {1, 2}, false, 2},
      {{2, 3, 9}, {4, 3, 3}, {2}, {1}, {1}, false, 1},
      {{1, 2, 4, 5, 3}, {3, 2, 2, 2, 2}, {1, 2, 1}, {0, 1, 1}, {1, 1, 1}, false, 1},
      {{2, 4, 5, 4}, {4, 3, 3, 2}, {2, 1}, {1, 0}, {1, 1}, true, 2}};
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    for (std::size_t i = 0; i < std::size(shapes); ++i) {
      const int64_t before = tenon_fake_engine_runs(0);
      const auto here = convolved(shapes[i], kCPU, dtype),
                 there = convolved(shapes[i], kCUDA, dtype);
      for (std::size_t k = 0; k < here.size(); ++k) {
        EXPECT_TRUE(allclose(there[k], here[k], 1e-2, 1e-2))
            << toString(dtype) << ", shape " << i << ", tensor " << k;
        EXPECT_TRUE(dtype != kFloat || equal(there[k], here[k]))
            << "shape " << i << ", tensor " << k;
      }
      EXPECT_EQ(tenon_fake_engine_runs(0), before + 3)
          << "forward, by input, by weight; shape " << i;
    }
  }
}

TEST_F(CudaPlans, EnginesOfLessPrecisionOrAnyOrderAreLeftOut) {
  offer({{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0, 0, false},
         {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 0, 0, false},
         {-1, 0, 0, true},
         {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, 0, 0, false},
         {-1, 0, 0, false}});
  const Tensor x = integers({1, 2, 5, 5}).to(kCUDA), w = integers({2, 2, 3, 3}).to(kCUDA);
  (void)conv2d(x, w);
  EXPECT_EQ(runs(5), (Runs{0, 0, 0, 1, 0}));
  core::set_deterministic(true);
  (void)conv2d(x, w);
  EXPECT_EQ(runs(5), (Runs{0, 0, 0, 1, 1}));
  core::set_deterministic(false);
  (void)conv2d(x.to(kHalf), w.to(kHalf));
  EXPECT_EQ(runs(5), (Runs{1, 0, 0, 1, 1})) << "tensor cores lose nothing of 16-bit floats";
}

// As on an H200, where more than 25 engines of TF32 come before the first that may be used.
TEST_F(CudaPlans, AnEngineBehindManyRefusedOnesIsFound) {
  std::vector<tenon_fake_engine> engines(40, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0, 0, false});
  engines.push_back({-1, 0, 0, false, true});
  engines.push_back({-1, 0, 0, false});
  tenon_fake_engines(engines.data(), static_cast<int>(engines.size()));
  const Tensor w = integers({2, 2, 3, 3}).to(kCUDA);
  (void)conv2d(integers({1, 2, 5, 5}).to(kCUDA), w);
  EXPECT_EQ(tenon_fake_engine_runs(40), 0) << "compiled at run time";
  EXPECT_EQ(tenon_fake_engine_runs(41), 1);
  engines.pop_back();
  tenon_fake_engines(engines.data(), static_cast<int>(engines.size()));
  (void)conv2d(integers({1, 2, 6, 6}).to(kCUDA), w);
  EXPECT_EQ(tenon_fake_engine_runs(40), 1) << "better than none";
}

TEST_F(CudaPlans, BenchmarkingCachesTheFastest) {
  offer({{-1, 20, 0, false},
         {-1, 1, 4096, false},
         {-1, 0, 0, true},
         {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0, 0, false}});
  measure();
  const Tensor x = integers({1, 2, 5, 5}), w = integers({2, 2, 3, 3}), there = x.to(kCUDA),
               weight = w.to(kCUDA);
  const auto blocks = tenon_fake_alive(TENON_FAKE_MEMORY);
  EXPECT_TRUE(equal(conv2d(there, weight).cpu(), conv2d(x, w)));
  EXPECT_EQ(runs(4), (Runs{4, 5, 0, 0}))
      << "four timed runs of each, one of the second engine for the call";
  EXPECT_LE(tenon_fake_alive(TENON_FAKE_MEMORY), blocks + 2)
      << "the result and a workspace, not what was measured with";
  (void)conv2d(there, weight);
  EXPECT_EQ(runs(4), (Runs{4, 6, 0, 0})) << "once per geometry";
  core::set_deterministic(true);
  (void)conv2d(there, weight);
  EXPECT_EQ(runs(4), (Runs{5, 6, 0, 0})) << "timing is not deterministic";
}

TEST_F(CudaPlans, NothingIsMeasuredInACapture) {
  offer({{-1, 20, 0, false}, {-1, 0, 0, false}});
  measure();
  const Tensor x = integers({1, 2, 5, 5}), w = integers({2, 2, 3, 3}), there = x.to(kCUDA),
               weight = w.to(kCUDA);
  Graph g;
  g.capture_begin();
  const Tensor y = conv2d(there, weight);
  g.capture_end();
  EXPECT_EQ(runs(2), (Runs{1, 0}));
  g.replay();
  EXPECT_TRUE(equal(y.cpu(), conv2d(x, w)));
  (void)conv2d(there, weight);
  EXPECT_EQ(runs(2), (Runs{5, 5})) << "the next call chooses";
}

TEST_F(CudaPlans, WithoutMemoryToMeasureTheFirstIsUsed) {
  offer({{-1, 20, 0, false}, {-1, 0, int64_t{64} << 20, false}});
  measure();
  const Tensor x = integers({1, 2, 5, 5}), w = integers({2, 2, 3, 3}), there = x.to(kCUDA),
               weight = w.to(kCUDA);
  tenon_fake_capacity(tenon_fake_bytes() + (uint64_t{32} << 20));
  EXPECT_TRUE(equal(conv2d(there, weight).cpu(), conv2d(x, w)));
  EXPECT_EQ(runs(2), (Runs{1, 0}));
}

// While plans are built, measured and run.
TEST_F(CudaPlans, EachCallFailsOnce) {
  offer({{-1, 0, 0, false}, {-1, 0, 512, false}});
  measure();
  const Tensor x = integers({1, 2, 5, 5}), w = integers({1, 2, 3, 1}), b = integers({1});
  const Tensor there = x.to(kCUDA), weight = w.to(kCUDA), bias = b.to(kCUDA);
  (void)conv2d(there, weight, bias).cpu();  // makes the handle
  int n = 1, raised = 0;
  for (;; ++n) {
    // The size differs each time, so that no plan is known yet.
    const Tensor more = x.repeat({1, 1, n, 1}), on_device = more.to(kCUDA);
    const int64_t handles = tenon_fake_alive(TENON_FAKE_HANDLES), injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    const std::string text =
        text_of<std::exception>([&] { (void)conv2d(on_device, weight, bias).cpu(); });
    const bool hit = tenon_fake_injected() > injected;
    tenon_fake_fail(0, 0);
    raised += !text.empty();
    EXPECT_TRUE(text.empty() || has(text, "failed")) << text;
    EXPECT_LE(tenon_fake_alive(TENON_FAKE_HANDLES), handles + 1)
        << n << ": more than the plan stays; " << text;
    EXPECT_EQ(tenon_fake_alive(TENON_FAKE_EVENTS), 0) << n << ": " << text;
    EXPECT_TRUE(equal(conv2d(on_device, weight, bias).cpu(), conv2d(more, w, b)))
        << n << ": " << text;
    if (!hit) break;
    ASSERT_LT(n, 500);
  }
  printf("%d calls failed, %d of them raised an error\n", n - 1, raised);
  EXPECT_GE(raised, 60);
}

}  // namespace
}  // namespace tenon::test
