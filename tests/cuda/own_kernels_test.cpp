// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What CUDA's libraries do not compute stays on the device all the same.
#include "tenon/core/dispatch.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaOwnKernels = CudaAlone;

// Small whole numbers, whose sums are exact in any order.
Tensor whole(IntArrayRef sizes, ScalarType dtype) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(n, kLong).mul(7).remainder(11).sub(5).to(dtype).view(sizes);
}

TEST_F(CudaOwnKernels, ProductsOfIntegers) {
  for (ScalarType dtype : {kByte, kChar, kShort, kInt, kLong}) {
    const Tensor a = whole({70, 33}, dtype), b = whole({33, 65}, dtype), x = whole({33}, dtype);
    EXPECT_TRUE(equal(a.to(kCUDA).mm(b.to(kCUDA)).cpu(), a.mm(b)));
    EXPECT_TRUE(equal(b.to(kCUDA).t().mm(a.to(kCUDA).t()).cpu(), b.t().mm(a.t())));
    EXPECT_TRUE(equal(a.to(kCUDA).mv(x.to(kCUDA)).cpu(), a.mv(x)));
    EXPECT_TRUE(equal(x.to(kCUDA).unsqueeze(0).mm(b.to(kCUDA)).cpu(), x.unsqueeze(0).mm(b)));
    EXPECT_TRUE(equal(x.to(kCUDA).dot(x.to(kCUDA)).cpu(), x.dot(x)));
  }
}

TEST_F(CudaOwnKernels, AddendsThatCublasCannotWalk) {
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    const Tensor a = whole({6, 3}, dtype), b = whole({3, 9}, dtype), column = whole({6, 1}, dtype);
    EXPECT_TRUE(equal(addmm(column.to(kCUDA), a.to(kCUDA), b.to(kCUDA), 2).cpu(), addmm(column, a, b, 2)));
    const Tensor apart = whole({6, 18}, dtype).slice(1, 0, 18, 2);
    EXPECT_TRUE(equal(addmm(apart.to(kCUDA), a.to(kCUDA), b.to(kCUDA)).cpu(), addmm(apart, a, b)));
  }
}

TEST_F(CudaOwnKernels, ConvolutionsOfIntegers) {
  for (ScalarType dtype : {kByte, kShort, kLong}) {
    const Tensor x = whole({2, 4, 7, 6}, dtype), w = whole({6, 2, 3, 2}, dtype), b = whole({6}, dtype);
    EXPECT_TRUE(equal(conv2d(x.to(kCUDA), w.to(kCUDA), b.to(kCUDA), {2, 1}, {1, 0}, {1, 2}, 2).cpu(),
                      conv2d(x, w, b, {2, 1}, {1, 0}, {1, 2}, 2)));
    const Tensor t = whole({4, 3, 3, 2}, dtype);
    EXPECT_TRUE(equal(conv_transpose2d(x.to(kCUDA), t.to(kCUDA), {}, {2, 3}, {1, 0}, {1, 2}, 2).cpu(),
                      conv_transpose2d(x, t, {}, {2, 3}, {1, 0}, {1, 2}, 2)));
  }
}

// More neighbours than are sorted at once: the images go one by one.
TEST_F(CudaOwnKernels, SamplesOfAGridInAFixedOrder) {
  manual_seed(3);
  core::set_deterministic(true);
  const auto compare = [](const Tensor& x, const Tensor& grid, int64_t mode, int64_t border) {
    const auto gradient = [&](Device device) {
      const Tensor in = x.clone().to(device).requires_grad_();
      grid_sampler(in, grid.to(device), mode, border, false).sum().backward();
      return in.grad().cpu();
    };
    const Tensor expected = gradient(kCPU), got = gradient(kCUDA);
    EXPECT_TRUE(allclose(got, expected, 1e-4, 1e-4)) << mode << ' ' << border << '\n'
                                                     << got << "\nand not\n"
                                                     << expected;
  };
  for (int64_t border = 0; border < 3; ++border) {
    for (int64_t mode = 0; mode < 3; ++mode) compare(randn({2, 3, 5, 4}), randn({2, 7, 6, 2}), mode, border);
    for (int64_t mode = 0; mode < 2; ++mode) compare(randn({2, 3, 5, 4, 3}), randn({2, 3, 2, 4, 3}), mode, border);
  }
  compare(randn({2, 1, 4, 4}, kDouble), rand({2, 1100, 1000, 2}, kDouble), 0, 0);
}

}  // namespace
}  // namespace tenon::test
