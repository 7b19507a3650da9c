// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Numbers that no index can be made of: scales that lead far outside of an image, factors and
// values beyond any size.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "tenon/ops.h"
#include "tests/support.h"

using namespace tenon;

TEST(OddNumbers, ScalesThatLeadOutOfTheInputStayInIt) {
  const Tensor line = arange(1, 6, kFloat).view({1, 1, 5}), image = line.view({1, 1, 1, 5});
  for (const std::optional<double> scale : {1e-30, std::numeric_limits<double>::denorm_min()}) {
    for (const Tensor& t :
         {upsample_nearest1d(line, {3}, scale), _upsample_nearest_exact1d(line, {3}, scale),
          upsample_linear1d(line, {3}, false, scale)}) {
      EXPECT_TRUE((t >= 1).logical_and(t <= 5).all().item<bool>()) << *scale;
    }
    for (const Tensor& t : {upsample_bicubic2d(image, {1, 3}, false, {}, scale),
                            _upsample_bilinear2d_aa(image, {1, 3}, false, {}, scale),
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

TEST(OddNumbers, AnIntegralPaddingValueSuitsIntegers) {
  EXPECT_EQ(pad(ones({2}, kLong), {1, 1}, "constant", 7.0)[0].item<int64_t>(), 7);
}

TEST(OddNumbers, StepsBeyondAnyCountAreRefused) { EXPECT_THROW(range(0, 1e30, 1e-30), ValueError); }

namespace {

struct NamedCall {
  const char* what;
  Tensor (*call)(const Tensor& x, const Scalar& s);
};

// Where a number becomes an element, it must be one that the dtype holds.
const NamedCall kElements[] = {
    {"full", [](const Tensor& x, const Scalar& s) { return full({2}, s, x.options()); }},
    {"full_like", [](const Tensor& x, const Scalar& s) { return full_like(x, s); }},
    {"fill_", [](const Tensor& x, const Scalar& s) { return x.clone().fill_(s); }},
    {"masked_fill", [](const Tensor& x, const Scalar& s) { return x.masked_fill(x == x, s); }},
    {"index_fill",
     [](const Tensor& x, const Scalar& s) {
       return x.index_fill(0, tensor({0, 1}, kLong), s);
     }},
    {"scatter",
     [](const Tensor& x, const Scalar& s) {
       return x.scatter(0, tensor({0, 1}, kLong), s);
     }},
    {"pad",
     [](const Tensor& x, const Scalar& s) {
       return constant_pad_nd(x, {2, 0}, s);
     }},
    {"linspace", [](const Tensor& x, const Scalar& s) { return linspace(s, s, 2, x.options()); }},
};

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST(OddNumbers, ElementsThatTheDtypeCannotHoldAreRefused) {
  const std::pair<ScalarType, std::vector<Scalar>> refused[] = {
      {kByte, {256, -256, 255.5, -0.5, 1e10, kInfinity, -kInfinity, kNaN}},
      {kChar, {128, -129, 127.5, 1e19, kInfinity, kNaN}},
      {kInt, {int64_t{1} << 31, 1e10, -kInfinity, kNaN}},
      {kLong, {1e19, -1e19, kInfinity, kNaN}},
      {kHalf, {65505, 1e10}},
      {kFloat, {1e39, -1e300}},
  };
  for (const NamedCall& c : kElements) {
    for (const auto& [dtype, numbers] : refused) {
      const Tensor x = ones({2}, dtype);
      for (const Scalar& s : numbers) {
        test::expect_words(test::text_of<ValueError>([&] { c.call(x, s); }),
                           {std::string(dtype_name(dtype)).c_str(), "without overflow"});
      }
      EXPECT_TRUE(equal(x, ones({2}, dtype))) << c.what;
    }
  }
}

TEST(OddNumbers, ElementsThatItHoldsAreTaken) {
  for (const NamedCall& c : kElements) {
    EXPECT_EQ(c.call(ones({2}, kByte), -1)[0].item<int>(), 255) << c.what;
    EXPECT_EQ(c.call(ones({2}, kInt), 2.75)[0].item<int>(), 2) << c.what;
    EXPECT_EQ(c.call(ones({2}, kHalf), 65504)[0].item<double>(), 65504) << c.what;
    if (c.what == std::string("linspace")) continue;  // takes no bools, and inf - inf is NaN
    EXPECT_TRUE(c.call(ones({2}, kBool), 256)[0].item<bool>()) << c.what;
    EXPECT_EQ(c.call(ones({2}, kFloat), -kInfinity)[0].item<double>(), -kInfinity) << c.what;
  }
}

TEST(OddNumbers, FactorsThatTheDtypeCannotHoldAreRefused) {
  const Tensor m = ones({2, 2}, kChar), v = ones({2}, kChar), f = ones({2});
  EXPECT_THROW(addr(m, v, v, 1, 300), ValueError);
  EXPECT_THROW(addr(m, v, v, 300, 1), ValueError);
  EXPECT_THROW(v.index_add(0, tensor({0, 1}, kLong), v, 300), ValueError);
  EXPECT_THROW(v.pow(300), ValueError);
  EXPECT_THROW(where(v == v, 300, v), ValueError);
  EXPECT_THROW(f.add(f, 1e39), ValueError);
  EXPECT_THROW(addmm(ones({2, 2}), ones({2, 2}), ones({2, 2}), 1, 1e39), ValueError);
  EXPECT_THROW(addcmul(f, f, f, 1e39), ValueError);
  EXPECT_THROW(leaky_relu(f, 1e39), ValueError);
  EXPECT_THROW(f.add(f, true), TypeError);
  EXPECT_THROW(addr(m, v, v, 1, true), TypeError);
  EXPECT_EQ(f.mul(1e39)[0].item<double>(), kInfinity);  // an operand, not a factor
}

TEST(OddNumbers, ABoundThatLetsNothingThroughIsRefused) {
  const Tensor x = ones({2}, kByte);
  EXPECT_THROW(x.clamp(256), ValueError);
  EXPECT_THROW(x.clamp_min(256), ValueError);
  EXPECT_THROW(x.clamp({}, -1), ValueError);
  EXPECT_THROW(x.clamp_max(-1), ValueError);
  EXPECT_THROW(hardtanh(x, 0, -1), ValueError);
  EXPECT_THROW(ones({2}).clamp(1e39), ValueError);
  EXPECT_TRUE(equal(x.clamp(-1, 256), x));  // lets everything through
}

TEST(OddNumbers, ABoundThatIsNaNMakesEverythingNaN) {
  for (ScalarType dtype : {kDouble, kFloat, kHalf}) {
    const Tensor x = arange(40, dtype) - 20;
    for (const Tensor& t : {x.clamp(kNaN), x.clamp(kNaN, 2), x.clamp(0, kNaN), x.clamp_min(kNaN),
                            x.clamp_max(kNaN), hardtanh(x, kNaN, 2), hardtanh(x, 0, kNaN)}) {
      EXPECT_TRUE(isnan(t).all().item<bool>());
    }
    EXPECT_EQ(x.clamp(3, 1).min().item<double>(), 1);  // the upper one wins where they cross
  }
}

TEST(OddNumbers, SearchedScalarsNeedNotFitTheSequence) {
  const Tensor row = tensor({1, 3}, kByte);
  EXPECT_EQ(searchsorted(row, Scalar(1.5)).item<int64_t>(), 1);
  EXPECT_EQ(searchsorted(row, Scalar(-1.5)).item<int64_t>(), 0);
  EXPECT_EQ(searchsorted(row, Scalar(300)).item<int64_t>(), 2);
}
