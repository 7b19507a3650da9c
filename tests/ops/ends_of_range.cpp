// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Results that an intermediate step must not lose: to overflow, to a rounding in 16 bits, or to
// what NaN and infinities do. The expected numbers are libtorch's or mpmath's.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tests/support.h"

using namespace tenon;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const int64_t kLowest = std::numeric_limits<int64_t>::min();

Tensor doubles(std::vector<double> v) { return tensor(v, TensorOptions(kDouble)); }
// Enough of one number for whole vectors.
Tensor many(double v, ScalarType t) { return full({37}, v, TensorOptions(t)); }

void expect_all_near(const Tensor& t, double expected, double relative) {
  const Tensor x = t.to(kDouble);
  for (int64_t i = 0; i < x.numel(); ++i) {
    EXPECT_NEAR(x.data_ptr<double>()[i], expected, std::fabs(expected) * relative) << "at " << i;
  }
}

void expect_values(const Tensor& t, const std::vector<double>& expected) {
  const Tensor x = t.to(kDouble).reshape({-1}).contiguous();
  ASSERT_EQ(x.numel(), static_cast<int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double got = x.data_ptr<double>()[i];
    EXPECT_TRUE(got == expected[i] || (got != got && expected[i] != expected[i]))
        << "at " << i << ": " << got;
  }
}

}  // namespace

TEST(EndsOfRange, BatchNormDoesNotHideInfinities) {
  for (ScalarType t : {kFloat, kDouble, kHalf}) {
    Tensor mean = zeros({2}, t), var = ones({2}, t);
    const Tensor x = tensor({kInf, 1., 1., 1., 2., 1.}).reshape({3, 2}).to(t);
    const auto [out, save_mean, save_rstd] =
        native_batch_norm(x, {}, {}, mean, var, true, 0.1, 1e-5);
    EXPECT_TRUE(out.select(1, 0).isnan().all().item<bool>());
    EXPECT_TRUE(save_rstd[0].isnan().item<bool>());
    EXPECT_TRUE(var[0].isnan().item<bool>());
    EXPECT_TRUE(mean[0].isinf().item<bool>());
    EXPECT_FALSE(var[1].isnan().item<bool>());
  }
}

TEST(EndsOfRange, DigammaOfSmallNegativeNumbers) {
  for (double x : {-1e-20, -1e-16, -1e-15}) {
    expect_all_near(digamma(many(x, kDouble)), -1 / x, 1e-15);
    expect_all_near(digamma(many(x, kFloat)), -1 / static_cast<double>(static_cast<float>(x)),
                    1e-7);
  }
  expect_all_near(digamma(many(-1e-8, kDouble)), 99999999.42278433, 1e-15);
}

TEST(EndsOfRange, TrigammaFarBelowZero) {
  expect_all_near(polygamma(1, many(-100000.25, kDouble)), 19.739198802253717, 1e-14);
  expect_all_near(polygamma(1, many(-1e-3, kDouble)), 1000001.6473414317, 1e-14);
}

// These once counted up from x by ones, or from a number that one does not change.
TEST(EndsOfRange, PolygammaOfLargeNumbersEnds) {
  expect_all_near(polygamma(2, many(-1e10 - 0.25, kDouble)), 124.02510672119928, 1e-12);
  expect_all_near(polygamma(3, many(-100.25, kDouble)), 1558.5454545884687, 1e-12);
  expect_all_near(polygamma(2, many(-17.75, kDouble)), -124.02810691095471, 1e-13);
  expect_all_near(polygamma(5, many(1e17, kDouble)), 2.4e-84, 1e-13);
  EXPECT_TRUE(polygamma(2, many(-1e17, kDouble)).isinf().all().item<bool>());
  expect_all_near(polygamma(1, many(1e17, kDouble)), 1e-17, 1e-13);
}

TEST(EndsOfRange, TrapezoidsOfIntegersDoNotWrap) {
  const Tensor y = tensor({0, -3, 2147483647, 3, 0, 9}, TensorOptions(kInt));
  EXPECT_EQ(trapz(y, 1.0).item<float>(), 2147483648.F);
  EXPECT_EQ(trapezoid(tensor({1., 2., 4.}), 0.5).item<double>(), 2.25);
}

TEST(EndsOfRange, HyperbolicFunctionsEndWhereTheirResultsDo) {
  for (Tensor (*f)(const Tensor&) : {&tenon::cosh, &tenon::sinh}) {
    expect_all_near(f(many(89, kFloat)), 2.24480640958717e38, 1e-7);
    expect_all_near(f(many(89.4159, kFloat)), 3.40253407350267e38, 1e-6);
    expect_all_near(f(many(710, kDouble)), 1.1169973830808555e308, 1e-15);
    expect_all_near(f(many(710.4758, kDouble)), 1.7975851435895589e308, 1e-13);
    EXPECT_TRUE(f(many(89.5, kFloat)).isinf().all().item<bool>());
    EXPECT_TRUE(f(many(710.5, kDouble)).isinf().all().item<bool>());
  }
  EXPECT_TRUE((sinh(many(-89, kFloat)) < -2e38).all().item<bool>());
}

TEST(EndsOfRange, RunningProductsAndSumsGoInOrder) {
  expect_values(cumprod(doubles({0, 1, 100, 1e308}), 0), {0, 0, 0, 0});
  expect_values(cumprod(doubles({1e300, 1e-200, 1e-200, 1e50}), 0),
                {1e300, 1e300 * 1e-200, 1e300 * 1e-200 * 1e-200, 1e300 * 1e-200 * 1e-200 * 1e50});
  expect_values(cumsum(doubles({-1.5e308, 0, 1e308, 1e308}), 0),
                {-1.5e308, -1.5e308, -1.5e308 + 1e308, -1.5e308 + 1e308 + 1e308});
}

TEST(EndsOfRange, ActivationsKeepWhatFits) {
  expect_values(hardswish(many(3e38, kFloat)), std::vector<double>(37, static_cast<double>(3e38F)));
  expect_values(hardswish(many(1e308, kDouble)), std::vector<double>(37, 1e308));
  expect_all_near(sigmoid(many(-720, kDouble)), 2.0322308024e-313, 1e-9);
  expect_all_near(silu(many(-720, kDouble)), -720 * 2.0322308024e-313, 1e-9);
  expect_all_near(silu(many(-745, kDouble)), -2.10265129420159e-321, 5e-3);
  expect_all_near(silu(many(-103.5, kFloat)), -1.16268340229339e-43, 2e-2);
  expect_all_near(lgamma(many(4.05e36, kFloat)), 3.37331718887e38, 1e-6);
  expect_all_near(exp(many(-720, kDouble)), 2.0322308024e-313, 1e-9);
}

TEST(EndsOfRange, BesselFunctionNearItsEnd) {
  expect_all_near(i0(many(682, kDouble)), 2.3601205934703336e294, 2e-15);
  EXPECT_TRUE(i0(many(713, kDouble)).isfinite().all().item<bool>());
  EXPECT_TRUE(i0(many(3e307, kDouble)).isposinf().all().item<bool>());
  EXPECT_TRUE(i0(many(-kInf, kFloat)).isnan().all().item<bool>());
  expect_all_near(special_i1(many(713, kDouble)), 6.7004245591864025e307, 2e-15);
  expect_all_near(special_modified_bessel_k1(many(700, kDouble)), 4.6731107967079661e-306, 1e-13);
  expect_all_near(special_airy_ai(many(100, kDouble)), 2.6344821520881845e-291, 1e-12);
  expect_all_near(special_airy_ai(many(-100, kDouble)), 0.17675339323955288, 1e-12);
}

TEST(EndsOfRange, TailsOfTheNormalDistribution) {
  expect_all_near(special_log_ndtr(many(-40, kDouble)), -804.60844201375379, 2e-15);
  expect_all_near(special_erfcx(many(-26, kDouble)), 7.6577249314905684e293, 1e-13);
  expect_all_near(special_ndtri(many(1e-300, kDouble)), -37.047096299361199, 2e-15);
  expect_all_near(special_zeta(many(1.0000001, kDouble), many(3, kDouble)), 9999999.071377035,
                  1e-9);
}

// A recurrence of as many steps would not end.
TEST(EndsOfRange, PolynomialsOfHugeDegree) {
  const Tensor degree = many(0x1p62, kDouble);
  EXPECT_TRUE(special_legendre_polynomial_p(many(0.5, kDouble), degree).isnan().all().item<bool>());
  EXPECT_TRUE(special_laguerre_polynomial_l(many(0.5, kDouble), degree).isnan().all().item<bool>());
  expect_values(special_laguerre_polynomial_l(many(0, kDouble), degree),
                std::vector<double>(37, 1));
  EXPECT_TRUE(special_hermite_polynomial_h(many(0.5, kDouble), degree).isnan().all().item<bool>());
  const double x = 1.0000001;  // T_n = cosh(n acosh x)
  expect_all_near(special_chebyshev_polynomial_t(many(x, kDouble), 5000.0),
                  std::cosh(5000 * std::acosh(x)), 1e-12);
  expect_all_near(special_chebyshev_polynomial_v(many(-x, kDouble), 5001.0),
                  -std::sinh(5001.5 * std::acosh(x)) / std::sinh(std::acosh(x) / 2), 1e-12);
}

TEST(EndsOfRange, CommonDivisorsOfTheLowestInteger) {
  const Tensor low = tensor({kLowest}), other = tensor({int64_t{255}});
  EXPECT_EQ(gcd(low, other).item<int64_t>(), 1);
  EXPECT_EQ(gcd(other, low).item<int64_t>(), 1);
  EXPECT_EQ(gcd(low, tensor({int64_t{48}})).item<int64_t>(), 16);
  EXPECT_EQ(gcd(low, tensor({int64_t{0}})).item<int64_t>(), kLowest);
  EXPECT_EQ(lcm(low, other).item<int64_t>(), kLowest);  // 255 * 2^63 modulo 2^64
  EXPECT_EQ(lcm(tensor({-128}, kChar), tensor({3}, kChar)).item<int8_t>(), -128);
}

TEST(EndsOfRange, StandardDeviationsAreRoundedOnce) {
  const Tensor x = tensor({1000., -1000., 1000.}).to(kHalf);
  EXPECT_EQ(tenon::std(x, true).item<float>(), 1155.F);
  EXPECT_EQ(tenon::std(x, IntArrayRef{0}, true).item<float>(), 1155.F);
  const auto [deviation, mean] = std_mean(x, IntArrayRef{0}, true);
  EXPECT_EQ(deviation.item<float>(), 1155.F);
  EXPECT_EQ(mean.item<float>(), 333.25F);
}

// Sums of squares, and of elements, that a float32 cannot hold.
TEST(EndsOfRange, VariancesOfLargeElementsAreFinite) {
  const Tensor x = tensor({1., -1., 1., -1., 1., -1., 1., -1.}) * 1.2e19;
  EXPECT_NEAR(tenon::std(x).item<double>() / 1.2829e19, 1, 1e-4);
  EXPECT_NEAR(tenon::std(x.to(kBFloat16)).item<double>() / 1.2829e19, 1, 1e-2);
  const auto [deviation, mean] = std_mean(full({8}, 1e38F), IntArrayRef{0}, true);
  EXPECT_EQ(deviation.item<float>(), 0);
  EXPECT_EQ(mean.item<float>(), 1e38F);
}

// Each would overflow in 16 bits between two steps, or lose its digits.
TEST(EndsOfRange, SixteenBitsAreRoundedOnce) {
  const Tensor x = tensor({300., 299.}).to(kHalf), zero = zeros({2}, kHalf),
               big = tensor({60000., 60000.}).to(kHalf);
  EXPECT_EQ(mse_loss(tensor({300., 0.}).to(kHalf), zero).item<float>(), 44992.F);
  const Tensor logits = full({64, 4}, 1000., kHalf), certain = zeros({64, 4}, kHalf);
  logits.select(1, 0).fill_(0);
  certain.select(1, 0).fill_(1);
  EXPECT_EQ(cross_entropy_loss(logits, certain).item<float>(),
            1001.F);  // their sum is not a float16
  EXPECT_EQ(addr(zeros({2, 2}, kHalf), x, x, 1, 0.125)[0][0].item<float>(), 11248.F);
  EXPECT_EQ(dist(x, zero, 2).item<float>(), 423.5F);
  EXPECT_EQ(cosine_similarity(x, x, 0).item<float>(), 1.F);
  EXPECT_EQ(logsumexp(big, {0}).item<float>(), 60000.F);
  EXPECT_EQ(l1_loss(big, -zero, 1).item<float>(), 60000.F);
  EXPECT_EQ(linalg_cross(tensor({300., 300., 300.}).to(kHalf), tensor({300., 300., 300.}).to(kHalf))
                .abs()
                .sum()
                .item<float>(),
            0);
  EXPECT_EQ(logaddexp2(big, big)[0].item<float>(), 60000.F);
  for (const Tensor& t : {mse_loss(x, zero), dist(x, zero, 2), logsumexp(x, {0}), logit(zero),
                          sinc(x), mvlgamma(x, 2)}) {
    EXPECT_EQ(t.scalar_type(), kHalf);
  }
}

// libtorch computes these into the dtype of one operand.
TEST(EndsOfRange, DtypesOfMixedLosses) {
  const Tensor h = full({2}, 0.5, kHalf), b = full({2}, 0.5, kBFloat16), f = full({2}, 0.5, kFloat);
  EXPECT_EQ(binary_cross_entropy_with_logits(h, b).scalar_type(), kBFloat16);
  EXPECT_EQ(binary_cross_entropy_with_logits(h, h, b, f).scalar_type(), kHalf);
  EXPECT_EQ(binary_cross_entropy_with_logits(f, h).scalar_type(), kHalf);
  EXPECT_EQ(binary_cross_entropy(h, h, f).scalar_type(), kHalf);
  EXPECT_EQ(soft_margin_loss(h, f).scalar_type(), kHalf);
  EXPECT_EQ(huber_loss(h, f).scalar_type(), kHalf);
  EXPECT_EQ(hinge_embedding_loss(h, f).scalar_type(), kHalf);
  EXPECT_EQ(poisson_nll_loss(h, b, true, true, 1e-8, 1).scalar_type(), kFloat);
  EXPECT_EQ(logaddexp2(h, b).scalar_type(), kFloat);
  EXPECT_EQ(ldexp(h, tensor({1, 2})).scalar_type(), kHalf);
  EXPECT_EQ(ldexp(h, b).scalar_type(), kFloat);
  EXPECT_EQ(ldexp(full({}, 1e-300, kDouble), tensor(1500)).item<double>(),
            std::ldexp(1e-300, 1500));
  EXPECT_EQ(ldexp(full({}, 0.), tensor(1 << 30)).item<double>(), 0);
  EXPECT_EQ(ldexp(full({}, 1.F), tensor(-149)).item<float>(), std::ldexp(1.F, -149));
}

TEST(EndsOfRange, MaxPoolTakesTheLastNaN) {
  const Tensor x = tensor({NAN, 1., NAN, 2., NAN, 3., 1., 1., 1.}).reshape({1, 1, 3, 3});
  for (ScalarType t : {kFloat, kDouble, kHalf}) {
    const auto [values, indices] = max_pool2d_with_indices(x.to(t), {2, 2}, {1, 1});
    expect_values(indices, {4, 4, 4, 4});
    EXPECT_EQ(std::get<1>(adaptive_max_pool2d(x.to(t), {1, 1})).item<int64_t>(), 4);
  }
  const Tensor line = full({1, 1, 1, 64}, NAN, kFloat);
  expect_values(std::get<1>(max_pool2d_with_indices(line, {1, 3}, {1, 1})).slice(-1, 0, 3),
                {2, 3, 4});
  expect_values(std::get<1>(max_pool2d_with_indices(line, {1, 3}, {1, 2})).slice(-1, 0, 3),
                {2, 4, 6});
}

TEST(EndsOfRange, MediansThatAreNoneNameThemselves) {
  for (ScalarType t : {kLong, kByte, kBool}) {
    test::expect_words(test::text_of<ValueError>([&] { median(empty({0}, t)); }),
                       {"median", std::string(dtype_name(t)).c_str()});
  }
  EXPECT_TRUE(median(empty({0}, kFloat)).isnan().item<bool>());
  const Tensor number = full({}, 1.);
  EXPECT_THROW(median(number, 3), IndexError);
  EXPECT_THROW(median(number, -2), IndexError);
  EXPECT_THROW(nanmedian(number, 1), IndexError);
  EXPECT_EQ(std::get<0>(median(number, -1)).item<double>(), 1);
}

TEST(EndsOfRange, WhatIsRefused) {
  EXPECT_THROW(softshrink(ones({2}), -1), ValueError);
  EXPECT_THROW(softshrink(ones({2}), NAN), ValueError);
  EXPECT_THROW(abs(tensor({true})), NotImplementedError);
  EXPECT_THROW(absolute(tensor({true})), NotImplementedError);
  EXPECT_THROW(roll(full({}, 1.), {1}, {0}), IndexError);
}

TEST(EndsOfRange, CircularPaddingWrapsWhatIsKept) {
  const Tensor x = arange(3, kFloat).view({1, 3});
  expect_values(pad(x, {2, -1}, "circular"), {0, 1, 0, 1});
  expect_values(pad(x, {-1, 2}, "circular"), {1, 2, 1, 2});
  expect_values(pad(arange(4, kFloat).view({1, 4}), {1, -2}, "circular"), {1, 0, 1});
  EXPECT_THROW(pad(x, {3, -1}, "circular"), ValueError);
}

TEST(EndsOfRange, IndicesFromTheEndOfADimension) {
  const Tensor x = arange(6, kFloat).view({2, 3});
  expect_values(take_along_dim(x, tensor({-1, 0, 1}).view({1, 3}), 1), {2, 0, 1, 5, 3, 4});
  EXPECT_THROW(take_along_dim(x, tensor({-4}).view({1, 1}), 1), IndexError);
  EXPECT_THROW(take_along_dim(x, tensor({-1})), IndexError);
}

TEST(EndsOfRange, LogitOfBoolsAndBytes) {
  expect_values(logit(tensor({true, false})), {kInf, -kInf});
  expect_values(logit(tensor({0, 1, 8}, TensorOptions(kByte))), {-kInf, kInf, NAN});
}

TEST(EndsOfRange, BytesOfTheOldEraAreInvertedAsMasks) {
  const Tensor mask = tensor({0, 1, 1}, TensorOptions(kByte));
  expect_values(~mask, {255, 254, 254});
  compat::Era04 era;
  expect_values(~mask, {1, 0, 0});
  expect_values(~(tensor({1., 2., 3.}) > 1.5), {1, 0, 0});
}

TEST(EndsOfRange, MultiMarginLossOfOneScore) {
  const Tensor score = full({}, 1.), target = tensor(0);
  EXPECT_EQ(multi_margin_loss(score, target).item<float>(), 0);
  EXPECT_EQ(multi_margin_loss(score, target.view({1}), 1, 1, {}, 0).dim(), 1);
}
