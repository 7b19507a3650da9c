// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Complex tensors: parts, arithmetic, gradients, files. What torch computes is in the stored cases.
#include <gtest/gtest.h>

#include <complex>

#include <sstream>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/serialize.h"
#include "tests/support.h"

namespace tenon {
namespace {

using Z = core::complex<double>;

Tensor sample(std::initializer_list<Z> values) {
  Tensor t = zeros({static_cast<int64_t>(values.size())}, TensorOptions(kComplexDouble));
  int64_t i = 0;
  for (const Z& z : values) t.select(0, i++).fill_(Scalar(z));
  return t;
}

Z at(const Tensor& t, int64_t i) { return t.select(0, i).item().toComplexDouble(); }

TEST(Complex, PartsAreViews) {
  Tensor z = sample({{1, 2}, {3, -4}});
  EXPECT_EQ(view_as_real(z).sizes(), IntArrayRef({2, 2}));
  EXPECT_TRUE(real(z).is_alias_of(z));
  imag(z).fill_(7);
  EXPECT_EQ(at(z, 1), Z(3, 7));
  EXPECT_TRUE(view_as_complex(view_as_real(z)).equal(z));
  EXPECT_THROW(view_as_complex(ones({3})), ValueError);
  const Tensor half = view_as_complex(ones({3, 2}, kHalf));
  EXPECT_EQ(half.scalar_type(), kComplexHalf);
  EXPECT_EQ(view_as_real(half).scalar_type(), kHalf);
  EXPECT_EQ(rand({2}, kComplexHalf).scalar_type(), kComplexHalf);
  const Tensor drawn = rand_like(half.to(kComplexFloat));
  EXPECT_TRUE((view_as_real(drawn) < 1).all().item<bool>());
  EXPECT_THROW(view_as_real(ones({2})), TypeError);
  EXPECT_THROW(imag(ones({2})), NotImplementedError);
}

TEST(Complex, TransposedPartsAreJoined) {
  const Tensor re = arange(6, kFloat).view({2, 3}).t(), im = re * 0.5;
  const Tensor z = complex(re, im);
  EXPECT_TRUE(real(z).equal(re));
  EXPECT_TRUE(imag(z).equal(im));
  EXPECT_TRUE(allclose(polar(z.abs(), z.angle()), z));
}

TEST(Complex, ArithmeticAndPromotion) {
  const Tensor a = sample({{1, 2}, {0, -1}}), b = sample({{3, -1}, {2, 2}});
  EXPECT_EQ(at(a * b, 0), Z(5, 5));
  EXPECT_EQ(at(a / b, 1), Z(-0.25, -0.25));
  EXPECT_EQ(at(a + 1, 0), Z(2, 2));
  EXPECT_EQ((ones({2}) + Scalar(Z(0, 1))).scalar_type(), kComplexFloat);
  EXPECT_EQ((ones({2}, kDouble) * Scalar(Z(0, 1))).scalar_type(), kComplexDouble);
  EXPECT_EQ((a.to(kComplexFloat) * ones({2}, kDouble)).scalar_type(), kComplexDouble);
  EXPECT_EQ(abs(a).scalar_type(), kDouble);
  EXPECT_EQ(at(a.conj(), 0), Z(1, -2));
  EXPECT_EQ(at(a.to(kDouble), 0), Z(1));
  EXPECT_THROW(a < b, NotImplementedError);
  EXPECT_THROW(ones({2}).add_(a), TypeError);
}

// A gradient of a real function is dL/dRe + i dL/dIm.
TEST(Complex, ClosenessIsOfBothParts) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a = sample({{1, 2}, {1, 2}, {1, nan}}),
               b = sample({{1, 2 + 1e-9}, {1, -2}, {1, nan}});
  EXPECT_TRUE(isclose(a, b).equal(tensor({1, 0, 0}).to(kBool)));
  EXPECT_TRUE(isclose(a, b, 1e-5, 1e-8, true).equal(tensor({1, 0, 1}).to(kBool)));
  EXPECT_FALSE(allclose(sample({{1, 2}}), sample({{1, 3}})));
}

TEST(Complex, GradientsAreConjugateDerivatives) {
  Tensor z = sample({{1, 2}, {3, -4}}).requires_grad_(true);
  (z * z.conj()).sum().backward();  // |z|^2, with an imaginary part of zero
  EXPECT_EQ(at(z.grad(), 1), Z(6, -8));
  Tensor x = ones({2}, kDouble).requires_grad_(true);
  real(x * z.detach()).sum().backward();
  EXPECT_EQ(x.grad().scalar_type(), kDouble);
  EXPECT_EQ(x.grad().select(0, 1).item().toDouble(), 3);
}

TEST(Complex, GradientsOfGradientsFollow) {
  Tensor z = sample({{1, 2}, {3, -4}}).requires_grad_(true);
  const Tensor first = autograd::grad({abs(z * z * z).sum()}, {z}, {}, true, true)[0];
  autograd::backward({real(first * first.conj()).sum()});
  // |z|^3 has the gradient 3 |z| z, whose squared modulus 9 |z|^4 has 36 |z|^2 z.
  const Z expected(36 * 25 * 3, 36 * 25 * -4);
  EXPECT_NEAR(at(z.grad(), 1).real(), expected.real(), 1e-9);
  EXPECT_NEAR(at(z.grad(), 1).imag(), expected.imag(), 1e-9);
}

// The gradient of Re tanh(z) is a conjugate, which counts where it is differentiated itself.
TEST(Complex, GradientsOfGradientsOfActivations) {
  const auto slope = [](const Tensor& z) {
    return autograd::grad({real(tanh(z)).sum()}, {z}, {}, true, true)[0];
  };
  Tensor z = sample({{0.3, 0.7}}).requires_grad_(true);
  autograd::backward({imag(slope(z)).sum()});
  // The slope is conj(1 - t^2), whose imaginary part falls by Im(-2 t (1 - t^2)) along Re z.
  const std::complex<double> t = std::tanh(std::complex<double>(0.3, 0.7)),
                             second = -2.0 * t * (1.0 - t * t);
  EXPECT_NEAR(at(z.grad(), 0).real(), -second.imag(), 1e-9);
  EXPECT_NEAR(at(z.grad(), 0).imag(), -second.real(), 1e-9);
}

// 0.1 and the positions are doubles, as the parts are.
TEST(Complex, GradientAtADistanceIsExact) {
  const Tensor z = sample({{0, 0}, {0.1, 0.2}, {0.2, 0.4}});
  const std::vector<Tensor> slopes = gradient(z, std::vector<Scalar>{0.1}, IntArrayRef{0});
  EXPECT_NEAR(at(slopes[0], 1).real(), 1, 1e-14);
  EXPECT_NEAR(at(slopes[0], 1).imag(), 2, 1e-14);
}

// Three elements of two numbers: the gradient of memory is shared by the elements that lie there.
TEST(Complex, GradientsOfOverlappingViews) {
  const Tensor z = sample({{1, 2}, {3, -4}});
  const Tensor x = z.as_strided({3}, {0}).requires_grad_();
  x.as_strided({2}, {0}).sum().backward();
  EXPECT_EQ(at(x.grad(), 2), Z(2.0 / 3, 0));
}

// Where the imaginary part would be lost.
TEST(Complex, RefusedByFunctionsOfRealNumbers) {
  const Tensor z = sample({{0.3, 0.7}});
  EXPECT_THROW(logit(z), NotImplementedError);
  EXPECT_THROW(native_dropout_backward(z, ones({1}, kBool), 2), NotImplementedError);
}

TEST(Complex, PrintsItsParts) {
  std::ostringstream out;
  out << sample({{1, 2}, {3, -4}});
  EXPECT_EQ(out.str(), "tensor([1.+2.j, 3.-4.j], dtype=complex128)");
}

TEST(Complex, DroppedChannels) {
  manual_seed(3);
  const Tensor z = tenon::complex(ones({2, 3, 4}), full({2, 3, 4}, 2.0));
  EXPECT_TRUE(equal(feature_alpha_dropout(z, 1, true), zeros_like(z)));
  const Tensor kept = feature_dropout(z, 0.5, true) / z;
  EXPECT_TRUE(((real(kept) == 0) | (real(kept) == 2)).all().item<bool>());
  EXPECT_TRUE(equal(imag(kept), zeros({2, 3, 4})));
}

TEST(Complex, SavedAndLoaded) {
  const Tensor z = sample({{1, 2}, {3, -4}});
  std::stringstream file;
  save(z, file);
  Tensor back;
  load(back, file);
  EXPECT_TRUE(back.equal(z));
}

}  // namespace
}  // namespace tenon
