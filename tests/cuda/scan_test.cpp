// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Scans and reductions of rows so long that several blocks share one.
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaLongRows = Cuda;

TEST_F(CudaLongRows, Scans) {
  manual_seed(5);
  for (int64_t rows : {1, 3}) {
    const Tensor numbers = randint(-9, 9, {rows, 20011}, kLong);
    for (ScalarType dtype : {kLong, kFloat, kDouble}) {
      const Tensor whole = numbers.to(dtype), there = whole.to(kCUDA);
      // All sums and products are integers that the dtype represents.
      const Tensor factors = dtype == kLong ? whole * 2 + 1 : whole.ge(0).to(dtype) * 2 - 1;
      EXPECT_TRUE(equal(whole.cumsum(1), there.cumsum(1).cpu()));
      EXPECT_TRUE(equal(factors.cumprod(1), factors.to(kCUDA).cumprod(1).cpu()));
      const auto [high, at] = whole.cummax(1);
      const auto [high_there, at_there] = there.cummax(1);
      EXPECT_TRUE(equal(high, high_there.cpu()));
      EXPECT_TRUE(equal(at, at_there.cpu()));
      const auto [low, below] = whole.cummin(1);
      const auto [low_there, below_there] = there.cummin(1);
      EXPECT_TRUE(equal(low, low_there.cpu()));
      EXPECT_TRUE(equal(below, below_there.cpu()));
    }
    for (ScalarType dtype : {kFloat, kDouble}) {
      const double allowed = dtype == kFloat ? 1e-5 : 1e-13;
      for (int64_t n : {500, 20011}) {
        const Tensor floats = randn({rows, n}, dtype);
        EXPECT_TRUE(
            allclose(floats.cumsum(1), floats.to(kCUDA).cumsum(1).cpu(), allowed, 10 * allowed));
        EXPECT_TRUE(allclose(floats.logcumsumexp(1), floats.to(kCUDA).logcumsumexp(1).cpu(),
                             allowed, allowed));
      }
    }
  }
}

TEST_F(CudaLongRows, Reductions) {
  manual_seed(6);
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kLong, kChar, kBool}) {
    for (int64_t n : {1000, 40003}) {
      // The second is not 16-byte aligned.
      const Tensor all = (randn({2, n}) * 5).to(dtype), part = all.slice(1, 1, n - 2);
      for (const Tensor& t : {all, part, all.flatten().slice(0, 3)}) {
        const Tensor there = t.to(kCUDA);
        const Tensor in_place =
            all.to(kCUDA).as_strided(t.sizes(), t.strides(), t.storage_offset());
        for (const Tensor& x : {there, in_place}) {
          EXPECT_TRUE(allclose(t.to(kDouble).sum(-1), x.sum(-1, false, kDouble).cpu(), 1e-9, 1e-9))
              << n;
          EXPECT_TRUE(equal(t.amax(-1), x.amax(-1).cpu())) << n;
          EXPECT_TRUE(equal(t.any(-1), x.any(-1).cpu())) << n;
          if (dtype == kBool) continue;
          EXPECT_TRUE(equal(t.argmin(-1), x.argmin(-1).cpu())) << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
