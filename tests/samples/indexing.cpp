// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Samples 24 to 30: the seven index forms of the notes of 0.2, on a tensor whose element ijk is
// 100 i + 10 j + k.
#include "tests/samples/support.h"

namespace tenon::samples {
namespace {

using indexing::Ellipsis;
using indexing::Slice;

Tensor cube() {
  const Tensor n = arange(5);
  return (n * 100).reshape({5, 1, 1}) + (n * 10).reshape({5, 1}) + n;
}

TEST(Samples, S24_ThreeLists) {
  EXPECT_TRUE(
      equal(cube().index({tensor({1, 2}), tensor({3, 2}), tensor({1, 0})}), tensor({131, 220})));
}

TEST(Samples, S25_ListsBroadcastAndRepeat) {
  EXPECT_TRUE(
      equal(cube().index({tensor({2, 3, 2}), tensor({0}), tensor({1})}), tensor({201, 301, 201})));
}

TEST(Samples, S26_ListsOfTwoDimensions) {
  EXPECT_TRUE(equal(cube().index({tensor({{1, 0}, {0, 1}}), tensor({0}), tensor({1})}),
                    tensor({{101, 1}, {1, 101}})));
}

Tensor rows(std::initializer_list<int64_t> of) {
  std::vector<Tensor> parts;
  for (int64_t i : of) parts.push_back(cube()[i]);
  return stack(parts);
}

TEST(Samples, S27_AListAndColons) {
  const Tensor y = cube().index({tensor({0, 3}), Slice(), Slice()});
  EXPECT_TRUE(equal(y, rows({0, 3})));
  EXPECT_EQ(printed(y.sizes()), "[2, 5, 5]");
}

TEST(Samples, S28_AListAndAnEllipsis) {
  EXPECT_TRUE(equal(cube().index({tensor({0, 3}), Ellipsis}), rows({0, 3})));
}

TEST(Samples, S29_AnIndexTensor) {
  EXPECT_TRUE(equal(cube().index({tensor({0, 2, 4}), Slice(), Slice()}), rows({0, 2, 4})));
}

TEST(Samples, S30_TheCommaForm) {
  EXPECT_TRUE(equal(cube().index({tensor({1, 3})}), rows({1, 3})));
}

}  // namespace
}  // namespace tenon::samples
