// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls that CUDA's libraries do not support stay on the device.
#include "tenon/core/dispatch.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaOwnKernels = CudaAlone;

// Small integers, whose sums are exact in any order.
Tensor integers(IntArrayRef sizes, ScalarType dtype) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return arange(n, kLong).mul(7).remainder(11).sub(5).to(dtype).view(sizes);
}

TEST_F(CudaOwnKernels, ProductsOfIntegers) {
  for (ScalarType dtype : {kByte, kChar, kShort, kInt, kLong}) {
    const Tensor a = integers({70, 33}, dtype), b = integers({33, 65}, dtype),
                 x = integers({33}, dtype);
    EXPECT_TRUE(equal(a.to(kCUDA).mm(b.to(kCUDA)).cpu(), a.mm(b)));
    EXPECT_TRUE(equal(b.to(kCUDA).t().mm(a.to(kCUDA).t()).cpu(), b.t().mm(a.t())));
    EXPECT_TRUE(equal(a.to(kCUDA).mv(x.to(kCUDA)).cpu(), a.mv(x)));
    EXPECT_TRUE(equal(x.to(kCUDA).unsqueeze(0).mm(b.to(kCUDA)).cpu(), x.unsqueeze(0).mm(b)));
    EXPECT_TRUE(equal(x.to(kCUDA).dot(x.to(kCUDA)).cpu(), x.dot(x)));
  }
}

// In units of 16 bytes, and of 8 to 1.
TEST_F(CudaOwnKernels, ManySmallPartsAreJoinedInOneLaunch) {
  const auto join = [](int64_t n, ScalarType dtype, int64_t columns) {
    std::vector<Tensor> parts, here;
    for (int64_t i = 0; i < n; ++i) {
      here.push_back(integers({1, columns}, dtype) + i % 100);
      parts.push_back(here.back().to(kCUDA));
    }
    core::synchronize(cuda_id());
    tenon_fake_timeline(/*launch_ms=*/1, 0);
    const Tensor joined = cat(parts);
    core::synchronize(cuda_id());
    EXPECT_EQ(tenon_fake_timeline_end().kernels_ms, n > 1024 ? 2 : 1) << n;
    tenon_fake_timeline(0, 0);
    EXPECT_TRUE(equal(joined.cpu(), cat(here))) << n << dtype;
  };
  for (int64_t n : {100, 512, 1500}) join(n, kFloat, 256);
  for (ScalarType dtype : {kDouble, kFloat, kHalf, kByte}) join(512, dtype, 1);
}

TEST_F(CudaOwnKernels, AddendsWithIrregularStrides) {
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16}) {
    const Tensor a = integers({6, 3}, dtype), b = integers({3, 9}, dtype),
                 column = integers({6, 1}, dtype);
    EXPECT_TRUE(
        equal(addmm(column.to(kCUDA), a.to(kCUDA), b.to(kCUDA), 2).cpu(), addmm(column, a, b, 2)));
    const Tensor apart = integers({6, 18}, dtype).slice(1, 0, 18, 2);
    EXPECT_TRUE(equal(addmm(apart.to(kCUDA), a.to(kCUDA), b.to(kCUDA)).cpu(), addmm(apart, a, b)));
  }
}

TEST_F(CudaOwnKernels, ConvolutionsOfIntegers) {
  for (ScalarType dtype : {kByte, kShort, kLong}) {
    const Tensor x = integers({2, 4, 7, 6}, dtype), w = integers({6, 2, 3, 2}, dtype),
                 b = integers({6}, dtype);
    EXPECT_TRUE(
        equal(conv2d(x.to(kCUDA), w.to(kCUDA), b.to(kCUDA), {2, 1}, {1, 0}, {1, 2}, 2).cpu(),
              conv2d(x, w, b, {2, 1}, {1, 0}, {1, 2}, 2)));
    const Tensor t = integers({4, 3, 3, 2}, dtype);
    EXPECT_TRUE(
        equal(conv_transpose2d(x.to(kCUDA), t.to(kCUDA), {}, {2, 3}, {1, 0}, {1, 2}, 2).cpu(),
              conv_transpose2d(x, t, {}, {2, 3}, {1, 0}, {1, 2}, 2)));
  }
}

// The parts of a long row are reduced by several blocks, and combined by another kernel.
TEST_F(CudaOwnKernels, LongRowsArePartsThatAreCombined) {
  manual_seed(5);
  const Tensor x = randn({2, 20000}, kDouble).mul(0.01).add(1);
  const auto check = [&](const char* what, auto reduce) {
    const Tensor got = reduce(x.to(kCUDA)).cpu(), want = reduce(x);
    EXPECT_TRUE(allclose(got, want, 1e-9, 1e-9)) << what << '\n' << got << "\nand not\n" << want;
  };
  check("sum", [](const Tensor& t) { return t.sum(1); });
  check("prod", [](const Tensor& t) { return t.prod(1); });
  check("norm", [](const Tensor& t) { return t.norm(2, 1); });
  check("var", [](const Tensor& t) { return t.var(1); });
  check("amax", [](const Tensor& t) { return t.amax(1); });
  check("all", [](const Tensor& t) { return t.gt(0).all(1).to(kDouble); });
}

// Those of a very long row are combined by the threads of a block.
TEST_F(CudaOwnKernels, ManyPartsAreCombinedByABlock) {
  manual_seed(6);
  constexpr int64_t kLength = 300000;
  for (ScalarType dtype : {kFloat, kDouble, kLong}) {
    Tensor x = randint(1, 3, {kLength}, kLong).to(dtype);
    x[123456] = 7;
    const auto check = [&](const char* what, auto reduce) {
      const Tensor got = reduce(x.to(kCUDA)).cpu(), want = reduce(x);
      EXPECT_TRUE(allclose(got.to(kDouble), want.to(kDouble), 1e-9, 1e-9))
          << what << " of " << toString(dtype) << ": " << got << " and not " << want;
    };
    check("sum", [](const Tensor& t) { return t.sum(); });
    check("prod", [](const Tensor& t) { return t.remainder(2).add(1).sub(1).prod(); });
    check("amax", [](const Tensor& t) { return t.amax(); });
    check("argmax", [](const Tensor& t) { return t.argmax(); });
    check("all", [](const Tensor& t) { return t.all(); });
    check("any", [](const Tensor& t) { return t.sub(t).any(); });
    if (dtype == kLong) continue;
    check("norm", [](const Tensor& t) { return t.norm(); });
    check("var", [](const Tensor& t) { return t.to(kDouble).var(); });
    check("var", [](const Tensor& t) { return std::get<0>(var_mean(t.to(kDouble), {0})); });
  }
}

TEST_F(CudaOwnKernels, SamplesOfAGrid) {
  manual_seed(12);
  const std::pair<ScalarType, double> roundings[] = {
      {kFloat, 1e-5}, {kDouble, 1e-12}, {kHalf, 1e-2}, {kBFloat16, 6e-2}};
  for (const auto& [dtype, rounding] : roundings) {
    const double allowed = rounding;
    const Tensor flat = randn({2, 3, 5, 4}).to(dtype), deep = randn({2, 3, 5, 4, 3}).to(dtype);
    // Positions that are exact in every dtype, and not halfway between two elements.
    const Tensor at = randint(-8, 9, {2, 7, 6, 3}, kLong).to(dtype).div(16).add(0.03125);
    for (int64_t mode = 0; mode < 3; ++mode) {
      const auto check = [&](const Tensor& x, const Tensor& grid) {
        const Tensor want = grid_sampler(x.to(kDouble), grid.to(kDouble), mode, 0, true);
        const Tensor got =
            grid_sampler(x.to(kCUDA), grid.to(kCUDA), mode, 0, true).cpu().to(kDouble);
        EXPECT_TRUE(allclose(got, want, allowed, allowed)) << mode << '\n'
                                                           << got << "\nand not\n"
                                                           << want;
      };
      check(flat, at.slice(3, 0, 2).contiguous());
      if (mode < 2) check(deep, at.unsqueeze(1));
    }
  }
}

// More neighbors than are sorted at once: the images go one by one.
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
    for (int64_t mode = 0; mode < 3; ++mode)
      compare(randn({2, 3, 5, 4}), randn({2, 7, 6, 2}), mode, border);
    for (int64_t mode = 0; mode < 2; ++mode)
      compare(randn({2, 3, 5, 4, 3}), randn({2, 3, 2, 4, 3}), mode, border);
  }
  compare(randn({2, 1, 4, 4}, kDouble), rand({2, 1100, 1000, 2}, kDouble), 0, 0);
}

TEST_F(CudaOwnKernels, PowersWithKernelsOfTheirOwn) {
  const std::pair<ScalarType, double> roundings[] = {
      {kFloat, 1e-7}, {kDouble, 1e-15}, {kHalf, 1e-3}, {kBFloat16, 8e-3}};
  for (const auto& [dtype, rounding] : roundings) {
    const Tensor x = arange(1, 36, kLong).to(dtype).view({5, 7});
    for (double e : {-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0}) {
      const Tensor want = x.to(kDouble).pow(e);
      EXPECT_TRUE(allclose(x.to(kCUDA).pow(e).cpu().to(kDouble), want, 2 * rounding, 0)) << e;
      const Tensor want_apart = want.slice(1, 0, 7, 2);
      EXPECT_TRUE(allclose(x.to(kCUDA).slice(1, 0, 7, 2).pow(e).cpu().to(kDouble), want_apart,
                           2 * rounding, 0))
          << e;
    }
  }
}

TEST_F(CudaOwnKernels, FunctionsOfStridedElements) {
  manual_seed(6);
  const Tensor x = randn({6, 10}, kDouble);
  compare([&](const auto& there) { return there(x).slice(1, 0, 10, 3).clamp(-0.5, 0.5); });
  const auto near = [&](const auto& f) {
    EXPECT_TRUE(
        allclose(f(x.to(kCUDA).slice(1, 0, 10, 3)).cpu(), f(x.slice(1, 0, 10, 3)), 1e-13, 1e-13));
  };
  near([](const Tensor& t) { return gelu(t, "tanh"); });
  near([](const Tensor& t) { return i0(t); });
}

TEST_F(CudaOwnKernels, BoundsAndPowersOfIntegers) {
  for (ScalarType dtype : {kByte, kChar, kShort, kInt, kLong}) {
    const Tensor x = integers({6, 10}, dtype);
    for (int64_t step : {1, 3}) {
      compare([&](const auto& on) { return on(x).slice(1, 0, 10, step).clamp(1, 3); });
      compare([&](const auto& on) { return on(x).slice(1, 0, 10, step).pow(3); });
      compare([&](const auto& on) { return on(x).slice(1, 0, 10, step).pow(2); });
    }
  }
  const Tensor b = integers({6, 10}, kLong).gt(0);
  for (int64_t step : {1, 3}) {
    compare([&](const auto& on) { return on(b).slice(1, 0, 10, step).pow(Scalar(true)); });
    compare([&](const auto& on) { return on(b).slice(1, 0, 10, step).pow(Scalar(false)); });
    compare([&](const auto& on) { return pow(Scalar(true), on(b).slice(1, 0, 10, step)); });
  }
}

TEST_F(CudaOwnKernels, NumbersOfTheExponentialDistribution) {
  for (ScalarType dtype : {kFloat, kDouble}) {
    manual_seed(4);
    const Tensor want = empty({1000}, dtype).exponential_(2);
    manual_seed(4);
    EXPECT_TRUE(allclose(empty({1000}, TensorOptions(dtype).device(kCUDA)).exponential_(2).cpu(),
                         want, 1e-6, 0));
  }
}

TEST_F(CudaOwnKernels, PatchesOfBytes) {
  const Tensor x = integers({2, 3, 7, 6}, kByte);
  compare([&](const auto& on) { return im2col(on(x), {3, 2}, {1, 2}, {1, 0}, {2, 1}); });
}

// More bins than shared memory holds.
TEST_F(CudaOwnKernels, HistogramsOfManyBins) {
  manual_seed(7);
  const Tensor x = rand({20000}, kDouble);
  for (int64_t bins : {100, 30000}) {
    EXPECT_TRUE(equal(x.to(kCUDA).histc(bins, 0, 1).cpu(), x.histc(bins, 0, 1))) << bins;
    const Tensor edges = linspace(0, 1, bins + 1, kDouble);
    const auto [want, same] = x.histogram(edges);
    const auto [got, there] = x.to(kCUDA).histogram(edges.to(kCUDA));
    EXPECT_TRUE(equal(got.cpu(), want)) << bins;
    EXPECT_TRUE(equal(there.cpu(), edges)) << bins;
  }
}

}  // namespace
}  // namespace tenon::test
