// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Messages are those of torch.testing.assert_close.
#include "tenon/testing.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/tenon.h"
#include "tests/support.h"

namespace tenon {
namespace {

using test::expect_words;
using test::text_of;
using testing::assert_close;
using testing::AssertCloseOptions;
using testing::AssertionError;

std::string difference(const Tensor& a, const Tensor& b, const AssertCloseOptions& o = {}) {
  return text_of<AssertionError>([&] { assert_close(a, b, o); });
}

TEST(AssertClose, TellsTheWorstElements) {
  const Tensor want = tensor({{1., 2., 4.}, {8., 16., 100.}});
  Tensor got = want.clone();
  got[0][1] = 2.5;
  got[1][2] = 101.;
  EXPECT_EQ(difference(got, want),
            "Tensor-likes are not close!\n\nMismatched elements: 2 / 6 (33.3%)\n"
            "Greatest absolute difference: 1 at index (1, 2) (up to 1e-05 allowed)\n"
            "Greatest relative difference: 0.25 at index (0, 1) (up to 1.3e-06 allowed)\n");
  EXPECT_EQ(difference(tensor({1, 2, 5}), tensor({1, 2, 3})),
            "Tensor-likes are not equal!\n\nMismatched elements: 1 / 3 (33.3%)\n"
            "Greatest absolute difference: 2 at index (2,)\n"
            "Greatest relative difference: 0.6666666666666666 at index (2,)\n");
  EXPECT_EQ(difference(tensor(3.), tensor(4.)),
            "Scalars are not close!\n\nExpected 4 but got 3.\n"
            "Absolute difference: 1 (up to 1e-05 allowed)\n"
            "Relative difference: 0.25 (up to 1.3e-06 allowed)\n");
}

TEST(AssertClose, TolerancesAreThoseOfTheDtype) {
  for (ScalarType dtype : {kHalf, kBFloat16, kFloat, kDouble, kComplexFloat, kComplexDouble}) {
    const testing::Tolerances t = testing::default_tolerances(dtype);
    const double allowed = t.atol + t.rtol;
    const Tensor one = ones({1}, kComplexDouble);
    const ScalarType wide = isComplexType(dtype) ? kComplexDouble : kDouble;
    // The tolerances of a wide value are those that are given.
    const AssertCloseOptions o = AssertCloseOptions().rtol(t.rtol).atol(t.atol);
    const Tensor near = (one + 0.99 * allowed), far = (one + 1.01 * allowed);
    const auto as = [&](const Tensor& x) { return wide == kDouble ? real(x) : x; };
    EXPECT_EQ(difference(as(near), as(one), o), "") << dtype;
    EXPECT_NE(difference(as(far), as(one), o), "") << dtype;
  }
  EXPECT_EQ(difference(tensor({1.f}), tensor({1.f + 1e-5f})), "");
  EXPECT_NE(difference(tensor({1.f}), tensor({1.f + 2e-5f})), "");
  EXPECT_NE(difference(tensor({1.}, kDouble), tensor({1. + 1e-6}, kDouble)), "");
  EXPECT_EQ(difference(tensor({1.}, kHalf), tensor({1.001}, kHalf)), "");
  // The larger ones where dtypes may differ.
  EXPECT_EQ(difference(tensor({1.}, kDouble), tensor({1.001}, kHalf),
                       AssertCloseOptions().check_dtype(false)),
            "");
  EXPECT_TEXT(assert_close(ones({1}), ones({1}), AssertCloseOptions().rtol(0.1)),
              "rtol and atol must be given together, got rtol alone");
}

TEST(AssertClose, AttributesAreCompared) {
  EXPECT_EQ(difference(ones({3}), ones({4})),
            "The values for attribute 'shape' do not match: [3] != [4].");
  expect_words(difference(ones({3}), ones({3}, kDouble)), {"attribute 'dtype'"});
  EXPECT_EQ(difference(ones({3}), ones({3}, kLong), AssertCloseOptions().check_dtype(false)), "");
  const Tensor a = arange(6.).view({2, 3}), b = a.t().contiguous().t();
  EXPECT_EQ(difference(a, b), "");
  EXPECT_EQ(difference(a, b, AssertCloseOptions().check_stride(true)),
            "The values for attribute 'stride()' do not match: [3, 1] != [1, 2].");
  EXPECT_EQ(difference(ones({1}), zeros({1}), AssertCloseOptions().msg("mine")), "mine");
  EXPECT_TEXT(assert_close(ones({1}), Tensor()), "the expected tensor is undefined");
  assert_close(Tensor(), Tensor());
  assert_close(ones({0, 3}), zeros({0, 3}));
}

TEST(AssertClose, NaNAndInfinity) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({1., nan, inf}), y = tensor({1., nan, -inf});
  expect_words(difference(x, x), {"Mismatched elements: 1 / 3", "nan at index (1,)"});
  EXPECT_EQ(difference(x, x, AssertCloseOptions().equal_nan(true)), "");
  expect_words(difference(x, y, AssertCloseOptions().equal_nan(true)),
               {"Mismatched elements: 1 / 3", "inf at index (2,)"});
}

TEST(AssertClose, NoGradientIsRecordedAndListsNameTheItem) {
  const Tensor x = ones({2}).requires_grad_();
  assert_close(x * 2, full({2}, 2.f));
  const std::string text = text_of<AssertionError>([&] {
    assert_close(std::vector<Tensor>{x, x}, {ones({2}), zeros({2})});
  });
  expect_words(text, {"Mismatched elements: 2 / 2 (100.0%)", "item [1]"});
  EXPECT_EQ(text_of<AssertionError>([&] { assert_close(std::vector<Tensor>{x}, {}); }),
            "The length of the sequences mismatch: 1 != 0");
}

TEST(MakeTensor, IsTheSameEachTimeAndWithinItsBounds) {
  for (ScalarType dtype : {kFloat, kHalf, kDouble, kLong, kByte, kChar, kBool, kComplexDouble}) {
    const Tensor a = testing::make_tensor({50}, dtype), b = testing::make_tensor({50}, dtype);
    EXPECT_EQ(a.scalar_type(), dtype);
    EXPECT_TRUE(equal(a, b)) << dtype;
    EXPECT_FALSE(equal(a, testing::make_tensor({50}, dtype, {}, {}, 1))) << dtype;
  }
  const Tensor whole = testing::make_tensor({1000}, kLong, 2, 5);
  EXPECT_EQ(whole.min().item<int64_t>(), 2);
  EXPECT_EQ(whole.max().item<int64_t>(), 4);
  EXPECT_TRUE(testing::make_tensor({2}, requires_grad()).requires_grad());
  EXPECT_TEXT(testing::make_tensor({2}, kFloat, 3, 3), "low must be below high, got 3 and 3");
}

TEST(NoncontiguousLike, HasTheValuesByOtherStrides) {
  for (ScalarType dtype : {kFloat, kLong, kBool, kComplexFloat}) {
    const Tensor t = testing::make_tensor({2, 3, 4}, dtype);
    const Tensor gaps = testing::noncontiguous_like(t);
    EXPECT_TRUE(equal(gaps, t));
    EXPECT_EQ(gaps.strides(), IntArrayRef({24, 8, 2}));
    EXPECT_TRUE(testing::noncontiguous_like(gaps).is_same(gaps));
    const Tensor turned = testing::transposed_like(t);
    EXPECT_TRUE(equal(turned, t));
    EXPECT_EQ(turned.strides(), IntArrayRef({1, 2, 6}));
    const Tensor later = testing::offset_like(t);
    EXPECT_TRUE(equal(later, t));
    EXPECT_EQ(later.storage_offset(), 1);
    EXPECT_TRUE(later.is_contiguous());
  }
  const Tensor w = ones({2}).requires_grad_();
  for (const Tensor& t :
       {testing::noncontiguous_like(w), testing::transposed_like(w), testing::offset_like(w)}) {
    EXPECT_TRUE(t.requires_grad());
    EXPECT_TRUE(t.is_leaf());
  }
  EXPECT_EQ(testing::noncontiguous_like(ones({})).dim(), 0);
}

}  // namespace
}  // namespace tenon
