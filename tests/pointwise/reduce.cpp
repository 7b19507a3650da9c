// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops.h"
#include "tenon/runtime/threads.h"
#include "tenon/tensor.h"
#include "tests/support.h"

using tenon::Tensor;
using tenon::test::same_bits;

namespace {

Tensor ramp(tenon::IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return tenon::sin(tenon::arange(n, tenon::kFloat)).reshape(sizes);
}

}  // namespace

TEST(Reduce, TheNumberOfThreadsDoesNotChangeABit) {
  const Tensor x = ramp({300, 700});
  const int before = tenon::core::num_threads();
  Tensor got[2][3];
  for (int k = 0; k < 2; ++k) {
    tenon::core::set_num_threads(k + 1);
    got[k][0] = tenon::sum(x);
    got[k][1] = tenon::sum(x, 0);
    got[k][2] = tenon::sum(x, 1);
  }
  tenon::core::set_num_threads(before);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(got[0][i], got[1][i])) << i;
}

TEST(Reduce, ALongSumOfFloatsKeepsItsDigits) {
  const Tensor x = tenon::full({10000000}, 0.1f, tenon::kFloat);
  EXPECT_NEAR(tenon::sum(x).item<float>(), 1e7 * static_cast<double>(0.1f), 1.0);
}

TEST(Reduce, AnyOrderOfDimensions) {
  const Tensor x = ramp({5, 6, 7, 8});
  const Tensor transposed = x.permute({3, 1, 0, 2});
  EXPECT_TRUE(tenon::allclose(tenon::sum(transposed, tenon::IntArrayRef({0, 2})),
                              tenon::sum(x, tenon::IntArrayRef({0, 3}))));
  EXPECT_TRUE(tenon::allclose(tenon::amax(transposed, tenon::IntArrayRef({1})).permute({1, 2, 0}),
                              tenon::amax(x, tenon::IntArrayRef({1}))));
}

TEST(Reduce, NanPropagates) {
  Tensor x = tenon::zeros({100});
  x.data_ptr<float>()[57] = NAN;
  EXPECT_TRUE(std::isnan(tenon::amax(x).item<float>()));
  EXPECT_EQ(tenon::argmin(x).item<int64_t>(), 57);
}
