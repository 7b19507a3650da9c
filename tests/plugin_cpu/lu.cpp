// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LU factors of real matrices, against the matrix itself and against LAPACK, which factors the
// complex matrix of the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tests/support.h"

namespace tenon {
namespace {

struct Sides {
  int64_t m, n;
};

// Below, at and above vectors, bases, panels and stripes; tall and wide.
const std::vector<Sides> kSides = {
    {1, 1},     {1, 7},     {7, 1},     {2, 2},     {15, 15},  {16, 16},  {17, 17},   {31, 33},
    {32, 32},   {33, 33},   {48, 49},   {63, 65},   {64, 64},  {65, 65},  {97, 97},   {128, 128},
    {129, 257}, {257, 129}, {300, 20},  {20, 300},  {200, 33}, {33, 200}, {383, 383}, {384, 384},
    {385, 385}, {449, 449}, {520, 392}, {392, 520}, {577, 577}};

class Lu : public testing::TestWithParam<ScalarType> {
 protected:
  Lu() { manual_seed(11); }
  static ScalarType dtype() { return GetParam(); }
  static ScalarType complex() { return dtype() == kFloat ? kComplexFloat : kComplexDouble; }
  static double epsilon() {
    return dtype() == kFloat ? std::numeric_limits<float>::epsilon()
                             : std::numeric_limits<double>::epsilon();
  }
  static Tensor random(IntArrayRef sizes) { return randn(sizes, dtype()); }

  // max |P L U - A|, computed in double, by the units in which an error of the factors is counted.
  static double error(const Tensor& a, const Tensor& LU, const Tensor& pivots) {
    const auto [P, L, U] = lu_unpack(LU.to(kDouble), pivots);
    const Tensor off = (P.matmul(L).matmul(U) - a.to(kDouble)).abs();
    const double sum = L.abs().matmul(U.abs()).max().item<double>();
    return off.max().item<double>() / (epsilon() * std::max(sum, 1e-30));
  }

  static int first_pivot(const Tensor& a) {
    return std::get<1>(linalg_lu_factor(a)).select(0, 0).item<int>();
  }
  static double largest(const Tensor& x) { return x.abs().max().to(kDouble).item<double>(); }
  static std::string name(int64_t m, int64_t n) {
    return std::to_string(m) + " x " + std::to_string(n);
  }
};

// The bound of the error of each element is min(m, n) units; rounding errors add up as their root.
TEST_P(Lu, FactorsMultiplyToTheMatrix) {
  for (const Sides s : kSides) {
    const Tensor a = random({s.m, s.n});
    const auto [LU, pivots, info] = linalg_lu_factor_ex(a);
    EXPECT_LT(error(a, LU, pivots), 2 + 0.1 * std::sqrt(std::min(s.m, s.n))) << name(s.m, s.n);
    EXPECT_EQ(info.item<int>(), 0) << name(s.m, s.n);
    EXPECT_LE(largest(LU.tril(-1)), 1) << name(s.m, s.n);
  }
}

TEST_P(Lu, PivotsAreThoseOfLapack) {
  for (const Sides s : kSides) {
    const Tensor a = random({s.m, s.n});
    const auto [LU, pivots, info] = linalg_lu_factor_ex(a);
    const auto [factors, exchanges, code] = linalg_lu_factor_ex(a.to(complex()));
    EXPECT_TRUE(equal(pivots, exchanges)) << name(s.m, s.n);
    EXPECT_TRUE(equal(info, code)) << name(s.m, s.n);
    EXPECT_LT(largest(LU - real(factors)), 3e3 * epsilon() * largest(LU)) << name(s.m, s.n);
  }
}

TEST_P(Lu, ThePivotIsTheFirstOfTheLargest) {
  for (const int64_t n : {3, 17, 40, 130, 400}) {
    Tensor a = random({n, n}) / 100;
    a.select(1, 0).fill_(-0.5);
    EXPECT_EQ(first_pivot(a), 1) << n;
    for (const int64_t first : {n / 3, n / 2, n - 1}) {
      Tensor b = a.clone();
      b.select(1, 0).slice(0, first, n).fill_(0.75);
      EXPECT_EQ(first_pivot(b), first + 1) << n;
    }
  }
}

// What is behind a pivot of zero is factored all the same.
TEST_P(Lu, ZeroPivotsAreTold) {
  for (const int64_t n : {1, 5, 33, 100, 400}) {
    for (const int64_t zero : {int64_t{0}, n / 3, n / 2, n - 1}) {
      Tensor a = random({n, n});
      a.select(1, zero).zero_();
      a.select(1, n - 1).zero_();
      const auto [LU, pivots, info] = linalg_lu_factor_ex(a);
      const auto [factors, exchanges, code] = linalg_lu_factor_ex(a.to(complex()));
      EXPECT_EQ(info.item<int>(), zero + 1) << n;
      EXPECT_EQ(code.item<int>(), zero + 1) << n;
      EXPECT_LT(error(a, LU, pivots), 4) << n << ", " << zero;
      EXPECT_TRUE(equal(pivots, exchanges)) << n << ", " << zero;
      EXPECT_EQ(std::get<3>(_linalg_solve_ex(a, ones({n, 1}, dtype()))).item<int>(), zero + 1);
    }
  }
}

TEST_P(Lu, NanEndsAndStaysWithinTheMatrix) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const int64_t n : {20, 70, 400}) {
    for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
      Tensor one = random({n, n}), column = random({n, n});
      one.select(0, at).select(0, n / 3).fill_(nan);
      column.select(1, at).fill_(nan);
      for (const Tensor& a : {one, column}) {
        const auto [LU, pivots, info] = linalg_lu_factor_ex(a);
        EXPECT_TRUE(LU.isnan().any().item<bool>());
        EXPECT_TRUE((pivots > arange(n, kInt)).all().item<bool>());
        EXPECT_TRUE((pivots <= n).all().item<bool>());
      }
      // At the top of its column it is the pivot; below, numbers are larger.
      Tensor top = random({n, n});
      top.select(1, 0).slice(0, 1, 2).fill_(nan);
      EXPECT_NE(first_pivot(top), 2);
      top.select(1, 0).slice(0, 0, 1).fill_(nan);
      EXPECT_EQ(first_pivot(top), 1);
    }
  }
}

// The reciprocal of a pivot may be denormal or infinite.
TEST_P(Lu, PivotsAtTheEndsOfTheRange) {
  const bool single = dtype() == kFloat;
  for (const double size : {single ? 3e38 : 1.6e308, single ? 1e-40 : 1e-310}) {
    for (const int64_t n : {2, 40}) {
      Tensor a = eye(n, dtype());
      a.select(1, 0).fill_(size / 4);
      a.select(1, 0).slice(0, n - 1, n).fill_(size);
      const Tensor column = a.select(1, 0).to(kDouble);
      const double quotient = (column.select(0, 0) / column.select(0, n - 1)).item<double>();
      const Tensor LU = std::get<0>(linalg_lu_factor(a));
      const Tensor below = LU.select(1, 0).slice(0, 1, n).to(kDouble);
      EXPECT_LT(largest(below - quotient), epsilon()) << size << ", " << n;
    }
  }
}

TEST_P(Lu, SolutionsAreThoseOfLapack) {
  for (const int64_t n : {1, 2, 16, 17, 64, 65, 130, 400, 449}) {
    const Tensor a = random({n, n}) + 2 * std::sqrt(static_cast<double>(n)) * eye(n, dtype());
    const auto [LU, pivots] = linalg_lu_factor(a);
    const auto [factors, exchanges] = linalg_lu_factor(a.to(complex()));
    for (const int64_t columns : {1, 2, 3, 5, 16, 130, 300}) {
      const Tensor b = random({n, columns});
      for (const bool adjoint : {false, true}) {
        const Tensor x = linalg_lu_solve(LU, pivots, b, true, adjoint);
        const Tensor expected =
            real(linalg_lu_solve(factors, exchanges, b.to(complex()), true, adjoint));
        EXPECT_LT(largest(x - expected), 40 * epsilon() * largest(expected))
            << n << ", " << columns << ", adjoint " << adjoint;
      }
      EXPECT_LT(largest(a.matmul(linalg_solve(a, b)) - b), 100 * epsilon() * largest(b)) << n;
    }
  }
}

TEST_P(Lu, BitsDoNotDependOnThreadsOrTheBatch) {
  for (const Sides s : {Sides{33, 33}, {200, 200}, {513, 513}, {700, 100}, {100, 700}}) {
    const Tensor a = random({3, s.m, s.n}), b = random({3, s.m, 1}), c = random({3, s.m, 300});
    const auto run = [&] {
      std::vector<Tensor> all;
      for (const Tensor& batch : {a, a.narrow(0, 0, 1)}) {
        const auto [LU, pivots, info] = linalg_lu_factor_ex(batch);
        all.insert(all.end(), {LU, pivots});
        if (s.m != s.n) continue;
        for (const Tensor& right : {b, c}) {
          const Tensor of_batch = right.narrow(0, 0, batch.size(0));
          all.push_back(linalg_solve(batch, of_batch));
          all.push_back(linalg_lu_solve(LU, pivots, of_batch, true, true));
        }
      }
      return all;
    };
    for (const int threads : {2, 3}) test::expect_same_bits_on(threads, run, name(s.m, s.n));
    const auto all = run();
    for (std::size_t i = 0, half = all.size() / 2; i < half; ++i)
      EXPECT_TRUE(test::same_bits(all[i].narrow(0, 0, 1).contiguous(), all[half + i])) << i;
  }
}

TEST_P(Lu, DeterminantAndInverse) {
  for (const int64_t n : {17, 100, 400}) {
    const Tensor a = random({n, n}) / std::sqrt(static_cast<double>(n)) + 2 * eye(n, dtype());
    EXPECT_LT(largest(a.matmul(linalg_inv(a)) - eye(n, dtype())), 100 * epsilon()) << n;
    const auto [sign, log] = linalg_slogdet(a);
    const auto [phase, expected] = linalg_slogdet(a.to(complex()));
    EXPECT_EQ(sign.to(kDouble).item<double>(), std::round(real(phase).item<double>())) << n;
    EXPECT_NEAR(log.to(kDouble).item<double>(), expected.to(kDouble).item<double>(),
                1e3 * epsilon())
        << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Lu, testing::Values(kFloat, kDouble),
                         [](const auto& info) { return std::string(toString(info.param)); });

}  // namespace
}  // namespace tenon
