// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions: where cuDNN has no plan, as the fake never has, the decomposition serves, and nothing is left behind.
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaConvolution = Cuda;

Tensor whole(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(n, kLong).mul(3).remainder(5).sub(2).to(kFloat).view(sizes);
}

TEST_F(CudaConvolution, WithoutAPlanTheDecompositionServes) {
  const Tensor x = whole({2, 4, 7, 6}), w = whole({6, 2, 3, 3}), b = whole({6});
  const int64_t asked = tenon_fake_calls("cudnn");
  EXPECT_TRUE(equal(conv2d(x.to(kCUDA), w.to(kCUDA), b.to(kCUDA), 2, 1, 1, 2).cpu(), conv2d(x, w, b, 2, 1, 1, 2)));
  EXPECT_GT(tenon_fake_calls("cudnn"), asked) << "cuDNN was not asked";
  const int64_t again = tenon_fake_calls("cudnn");
  (void)conv2d(x.to(kCUDA), w.to(kCUDA), b.to(kCUDA), 2, 1, 1, 2);
  EXPECT_EQ(tenon_fake_calls("cudnn"), again) << "a refusal is kept";
}

TEST_F(CudaConvolution, GradientsToo) {
  const auto gradients = [](Device device) {
    Tensor x = whole({2, 3, 8}).to(device).requires_grad_(), w = whole({4, 3, 3}).to(device).requires_grad_(),
           b = whole({4}).to(device).requires_grad_();
    const Tensor y = conv1d(x, w, b);
    y.backward(whole({2, 4, 6}).to(device));
    return std::vector<Tensor>{x.grad().cpu(), w.grad().cpu(), b.grad().cpu()};
  };
  const auto here = gradients(kCPU), there = gradients(kCUDA);
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(equal(there[i], here[i])) << i;
}

// Descriptions and handles are given back wherever the building of a plan fails.
TEST_F(CudaConvolution, EachCallFailsOnce) {
  const Tensor x = whole({1, 2, 5, 5}).to(kCUDA);
  int n = 1, raised = 0;
  int64_t handles = -1;
  for (;; ++n) {
    const Tensor w = whole({1, 2, 1 + n % 2, 1}).to(kCUDA);
    const int64_t injected = tenon_fake_injected();
    tenon_fake_fail(n, cudaErrorInvalidValue);
    // The size differs each time, so that no plan is known yet.
    const std::string text = text_of<std::exception>([&] { (void)conv2d(x.repeat({1, 1, n, 1}), w).cpu(); });
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

}  // namespace
}  // namespace tenon::test
