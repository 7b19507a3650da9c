// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/core/geometry.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenon/runtime/error.h"
#include "tests/support.h"

using namespace tenon;
using core::extent;
using core::is_row_major;
using core::may_overlap_itself;
using core::overlaps_itself;
using test::expect_words;
using test::text_of;

namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

std::vector<int64_t> strides_of(IntArrayRef sizes) {
  std::vector<int64_t> out(sizes.size());
  core::contiguous_strides(static_cast<int>(sizes.size()), sizes.data(), out.data());
  return out;
}

int64_t numel_of(IntArrayRef sizes) {
  return core::checked_numel("test", static_cast<int>(sizes.size()), sizes.data());
}

uint64_t bytes_of(uint32_t item, IntArrayRef sizes, IntArrayRef strides) {
  return core::checked_extent("test", item, static_cast<int>(sizes.size()), sizes.data(),
                              strides.data());
}

}  // namespace

TEST(Geometry, CountsElementsThatMemoryCanHold) {
  EXPECT_EQ(numel_of({}), 1);
  EXPECT_EQ(numel_of({2, 3, 4}), 24);
  EXPECT_EQ(numel_of({kHuge, 0, kHuge}), 0);
  EXPECT_EQ(numel_of({core::kMaxNumel}), core::kMaxNumel);
  expect_words(text_of<ValueError>([] { numel_of({core::kMaxNumel + 1}); }),
               {"test", "more elements than memory"});
  expect_words(text_of<ValueError>([] {
                 numel_of({kHuge, kHuge});
               }),
               {"more elements than memory"});
  expect_words(text_of<ValueError>([] {
                 numel_of({2, -1});
               }),
               {"size -1 of dimension 1 is negative"});
  expect_words(text_of<ValueError>([] { numel_of(std::vector<int64_t>(65, 1)); }),
               {"at most 64 dimensions"});
}

TEST(Geometry, ExtentsReachTheLastElement) {
  EXPECT_EQ(extent({2, 3}, {3, 1}), 6);
  EXPECT_EQ(extent({2, 3}, {10, 2}), 15);
  EXPECT_EQ(extent({4}, {0}), 1);
  EXPECT_EQ(extent({4, 0}, {1, 1}), 0);
  EXPECT_EQ(bytes_of(8, {2, 3}, {10, 2}), 120u);
  EXPECT_EQ(bytes_of(8, {0, kHuge}, {1, kHuge}), 0u);
  expect_words(text_of<ValueError>([] { bytes_of(1, {2}, {-1}); }),
               {"stride -1 of dimension 0 is negative"});
  expect_words(text_of<ValueError>([] { bytes_of(1, {5}, {kHuge}); }),
               {"reach further than memory"});
}

TEST(Geometry, RowMajorStridesCountTheElementsBehind) {
  EXPECT_EQ(strides_of({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_EQ(strides_of({2, 0, 4}), (std::vector<int64_t>{4, 4, 1}));
  EXPECT_TRUE(is_row_major({2, 3}, {3, 1}));
  EXPECT_FALSE(is_row_major({2, 3}, {1, 2}));
  EXPECT_TRUE(is_row_major({1, 3}, {99, 1})) << "one element has no neighbor";
  EXPECT_TRUE(is_row_major({0, 3}, {5, 7}));
}

TEST(Geometry, BroadcastDimensionsHaveStrideZero) {
  std::vector<int64_t> out(4);
  core::broadcast_strides({3, 1, 2}, {2, 2, 1}, {5, 3, 4, 2}, out.data());
  EXPECT_EQ(out, (std::vector<int64_t>{0, 2, 0, 1}));
}

TEST(Geometry, FindsIndicesThatShareAnElement) {
  EXPECT_FALSE(overlaps_itself({2, 3}, {3, 1}));
  EXPECT_TRUE(overlaps_itself({2, 3}, {0, 1}));
  EXPECT_TRUE(overlaps_itself({3, 3}, {1, 1})) << "nine elements in five places";
  EXPECT_FALSE(overlaps_itself({1, 3}, {0, 1}));
  EXPECT_FALSE(may_overlap_itself({3, 2}, {1, 3}));
  EXPECT_TRUE(may_overlap_itself({3, 2}, {1, 2}));
  EXPECT_FALSE(may_overlap_itself({3, 0}, {0, 0}));
}
