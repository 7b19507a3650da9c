// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// topk and kthvalue of long rows, without a sort of all elements: as by a stable sort on the host.
#include <limits>

#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

using CudaSelect = CudaAlone;

void expect_sorted(const Tensor& x, int64_t k, int64_t dim) {
  const Tensor there = x.to(kCUDA);
  for (bool largest : {true, false}) {
    const auto [values, indices] = there.topk(k, dim, largest);
    const auto [all, order] = x.sort(true, dim, largest);
    EXPECT_TRUE(equal(indices.cpu(), order.slice(dim, 0, k)))
        << toString(x.scalar_type()) << largest;
    EXPECT_TRUE(allclose(values.cpu().to(kDouble), all.slice(dim, 0, k).to(kDouble), 0, 0, true));
  }
  const auto [value, index] = there.kthvalue(k, dim);
  const auto [all, order] = x.sort(true, dim, false);
  EXPECT_TRUE(equal(index.cpu(), order.select(dim, k - 1))) << toString(x.scalar_type()) << k;
  EXPECT_TRUE(allclose(value.cpu().to(kDouble), all.select(dim, k - 1).to(kDouble), 0, 0, true));
}

// Few values, so that many are equal at the k-th.
Tensor repeated(IntArrayRef sizes, ScalarType dtype) {
  return randint(23, sizes, kLong).sub(9).to(dtype);
}

TEST_F(CudaSelect, OneBlockPerRow) {
  manual_seed(1);
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kLong, kByte, kShort}) {
    expect_sorted(repeated({3, 1500}, dtype), 7, 1);
    if (isFloatingType(dtype)) expect_sorted(randn({2, 1100}).to(dtype), 200, 1);
  }
  expect_sorted(randn({1200, 4}), 1, 0);
  expect_sorted(randn({2, 1500, 3}).transpose(0, 2), 300, 1);
}

TEST_F(CudaSelect, ManyBlocksPerRow) {
  manual_seed(2);
  expect_sorted(randn({2, 66001}), 1000, 1);
  expect_sorted(repeated({66000}, kFloat), 5000, 0);
  expect_sorted(repeated({66000}, kLong).mul(int64_t{1} << 40), 3, 0);
}

TEST_F(CudaSelect, NaN) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  manual_seed(3);
  Tensor x = randn({2, 2000});
  x.select(1, 5).fill_(nan);
  x.select(1, 1999).fill_(-nan);
  x.select(1, 7).fill_(inf);
  x.select(1, 8).fill_(-inf);
  x.slice(1, 100, 600).fill_(0.0);
  x.slice(1, 200, 300).fill_(-0.0);
  for (int64_t k : {1, 2, 4, 500}) expect_sorted(x, k, 1);
}

// A sort needs 24 bytes per element and more; a selection needs as much as its result.
TEST_F(CudaSelect, AFewOfManyTakeLittleMemory) {
  const Tensor x = on_cuda(zeros({1 << 17}));
  core::synchronize(cuda_id());
  core::cache_trim(cuda_id());
  const auto before = core::memory_stats(cuda_id());
  (void)x.topk(4);
  EXPECT_LT(core::memory_stats(cuda_id()).reserved - before.reserved, uint64_t{3} << 20);
}

}  // namespace
}  // namespace tenon::test
