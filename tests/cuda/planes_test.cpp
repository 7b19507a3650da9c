// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Norms and pooling where a block or a warp shares the elements of one result.
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaPlanes = CudaAlone;

constexpr std::pair<ScalarType, double> kRoundings[] = {
    {kFloat, 1e-5}, {kDouble, 1e-12}, {kHalf, 4e-3}, {kBFloat16, 3e-2}};

void near(const Tensor& got, const Tensor& want, double allowed) {
  EXPECT_TRUE(allclose(got.cpu().to(kDouble), want.to(kDouble), allowed, allowed))
      << got.cpu() << "\nand not\n"
      << want;
}

// f(x) and its gradient, on the device and on the host in double.
template <class F>
void with_gradient(const Tensor& x, double allowed, const F& f) {
  const auto run = [&](Tensor in) {
    in = in.detach().requires_grad_();
    const Tensor out = f(in);
    const Tensor by =
        arange(out.numel(), kLong).remainder(5).sub(2).to(out.scalar_type()).view(out.sizes());
    out.backward(by.to(out.device()));
    return std::pair(out.detach(), in.grad());
  };
  const auto [got, got_grad] = run(x.to(kCUDA));
  const auto [want, want_grad] = run(x.to(kDouble));
  near(got, want, allowed);
  near(got_grad, want_grad, 8 * allowed);
}

TEST_F(CudaPlanes, BatchNorm) {
  manual_seed(8);
  for (const auto& [dtype, allowed] : kRoundings) {
    for (int64_t side : {3, 12, 40}) {
      const Tensor x = randn({2, 3, side, side}).to(dtype);
      with_gradient(x, allowed, [](const Tensor& t) {
        return batch_norm(t, {}, {}, {}, {}, true, 0.1, 1e-5, false);
      });
    }
  }
}

TEST_F(CudaPlanes, GroupNorm) {
  manual_seed(9);
  for (const auto& [dtype, allowed] : kRoundings) {
    for (int64_t side : {3, 12, 40}) {
      const Tensor x = randn({2, 6, side, side}).to(dtype);
      with_gradient(x, allowed, [](const Tensor& t) { return group_norm(t, 2); });
    }
  }
}

TEST_F(CudaPlanes, LargeWindows) {
  manual_seed(10);
  for (const auto& [dtype, allowed] : kRoundings) {
    // No element twice, so that the largest is one in every dtype.
    const Tensor x = randperm(2 * 2 * 48).to(dtype).view({2, 2, 6, 8}).div(64);
    with_gradient(x, allowed, [](const Tensor& t) { return avg_pool2d(t, {6, 8}); });
    with_gradient(x, allowed, [](const Tensor& t) { return max_pool2d(t, {6, 6}, {6, 6}); });
    with_gradient(x, allowed, [](const Tensor& t) { return adaptive_avg_pool2d(t, {1, 1}); });
  }
}

TEST_F(CudaPlanes, SamplesOfAGridInHalf) {
  manual_seed(11);
  for (ScalarType dtype : {kHalf, kBFloat16}) {
    const Tensor x = randn({2, 3, 5, 4}).to(dtype), grid = rand({2, 3, 3, 2}).sub(0.5).to(dtype);
    with_gradient(x, 3e-2, [&](const Tensor& t) {
      return grid_sampler(t, grid.to(t.device(), t.scalar_type()), 0, 0, false);
    });
  }
}

}  // namespace
}  // namespace tenon::test
