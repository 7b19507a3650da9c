// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which elements a line is resampled from, for scales that no image size gives: a program may pass
// any.
#include "tenon/sdk/resample.h"

#include <gtest/gtest.h>

#include <limits>

using tenon::sdk::resample_axis;
using tenon::sdk::Resampling;

TEST(ResampleAxis, PositionsBeyondTheInputAreItsLastElement) {
  for (double scale : {1e-3, 1e-30, std::numeric_limits<double>::denorm_min()}) {
    for (Resampling how : {Resampling::kNearest, Resampling::kNearestExact, Resampling::kLinear,
                           Resampling::kCubic, Resampling::kLinearWide, Resampling::kCubicWide}) {
      const auto a = resample_axis<float>(how, 5, 3, false, scale);
      ASSERT_EQ(static_cast<int64_t>(a.index.size()), 3 * a.taps);
      EXPECT_LE(a.taps, 5);
      for (int64_t i : a.index) {
        EXPECT_GE(i, 0) << scale;
        EXPECT_LT(i, 5) << scale;
      }
      if (how == Resampling::kNearest || how == Resampling::kLinear) {
        EXPECT_EQ(a.index.back(), 4) << scale;
      }
    }
  }
}

TEST(ResampleAxis, AWideKernelReachesNoFurtherThanTheLine) {
  const auto a = resample_axis<double>(Resampling::kLinearWide, 6, 2, false, {});
  double sum = 0;
  for (int64_t t = 0; t < a.taps; ++t) sum += a.weight[static_cast<std::size_t>(t)];
  EXPECT_DOUBLE_EQ(sum, 1);
}
