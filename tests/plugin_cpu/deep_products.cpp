// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Sums of many products in float: added in blocks, so that errors stay small, whichever way a
// product takes.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

// The root of the mean squared error of a @ b, whose elements have a deviation of sqrt(k).
double error(const Tensor& a, const Tensor& b) {
  const Tensor exact = a.to(kDouble).mm(b.to(kDouble)), off = a.mm(b).to(kDouble) - exact;
  return (off / std::sqrt(static_cast<double>(a.size(1)))).pow(2).mean().sqrt().item<double>();
}

struct Sides {
  int64_t m, n;
};

TEST(DeepProducts, ErrorsStaySmall) {
  manual_seed(7);
  constexpr int64_t k = 2048;
  for (const Sides s : {Sides{64, 64}, {200, 24}, {24, 200}, {100, 10}, {40, 1000}, {5, 33}}) {
    const Tensor a = randn({s.m, k}), b = randn({k, s.n});
    const Tensor rows = b.t().contiguous().t();  // weights, each contiguous
    EXPECT_LT(error(a, b), 3.6e-7) << s.m << " x " << s.n;
    EXPECT_LT(error(a, rows), 3.6e-7) << s.m << " x " << s.n << ", transposed";
    for (int i = 0; i < 4; ++i) (void)a.mm(rows);  // kept in panels by now
    EXPECT_LT(error(a, rows), 3.6e-7) << s.m << " x " << s.n << ", transposed, again";
  }
}

}  // namespace
