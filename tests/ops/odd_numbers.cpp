// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers that no index can be made of: scales that lead far outside of an image, factors and values beyond any size.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;

TEST(OddNumbers, ScalesThatLeadOutOfTheInputStayInIt) {
  const Tensor line = arange(1, 6, kFloat).view({1, 1, 5}), image = line.view({1, 1, 1, 5});
  for (const std::optional<double> scale : {1e-30, std::numeric_limits<double>::denorm_min()}) {
    for (const Tensor& t : {upsample_nearest1d(line, {3}, scale), _upsample_nearest_exact1d(line, {3}, scale),
                            upsample_linear1d(line, {3}, false, scale)}) {
      EXPECT_TRUE((t >= 1).logical_and(t <= 5).all().item<bool>()) << *scale;
    }
    for (const Tensor& t :
         {upsample_bicubic2d(image, {1, 3}, false, {}, scale), _upsample_bilinear2d_aa(image, {1, 3}, false, {}, scale),
          _upsample_bicubic2d_aa(image, {1, 3}, false, {}, scale)}) {
      EXPECT_EQ(t.numel(), 3);
    }
  }
}

TEST(OddNumbers, FactorsBeyondAnySizeAreRefused) {
  const Tensor line = ones({1, 1, 5});
  for (double factor : {1e30, std::numeric_limits<double>::infinity()}) {
    const double factors[] = {factor};
    test::expect_words(test::text_of<ValueError>([&] { upsample_nearest1d(line, {}, factors); }),
                       {"upsample_nearest1d", "factor"});
  }
}

TEST(OddNumbers, AWholePaddingValueSuitsIntegers) {
  EXPECT_EQ(pad(ones({2}, kLong), {1, 1}, "constant", 7.0)[0].item<int64_t>(), 7);
}

TEST(OddNumbers, StepsBeyondAnyCountAreRefused) { EXPECT_THROW(range(0, 1e30, 1e-30), ValueError); }
