// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Where the special functions have gradients, and what they are at 0, where formulas divide by it.
#include <gtest/gtest.h>

#include "tenon/autograd.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

using namespace tenon;

namespace {

using Function = Tensor (*)(const Tensor&);

// The first and second derivatives at x.
std::pair<double, double> slopes(Function f, double x) {
  const Tensor at = tensor({x}, TensorOptions(kDouble).requires_grad(true));
  const Tensor slope = autograd::grad({f(at).sum()}, {at}, {}, true, true)[0];
  const Tensor second = autograd::grad({slope.sum()}, {at})[0];
  return {slope.item<double>(), second.item<double>()};
}

TEST(Special, SlopesAtZero) {
  const std::pair<double, double> half(0.5, 0);
  EXPECT_EQ(slopes(special_bessel_j1, 0), half);
  EXPECT_EQ(slopes(special_i1, 0), half);
  EXPECT_EQ(slopes(special_i1e, 0), half);
  EXPECT_EQ(slopes(special_i0e, 0), std::make_pair(0.0, 0.5));
  EXPECT_TRUE(std::isinf(slopes(special_bessel_y1, 0).first));
}

// ATen's formula for the first overflows there, and is 0 / 0 below.
TEST(Special, SlopesOfTheLogarithmOfTails) {
  EXPECT_NEAR(slopes(special_log_ndtr, -1e30).first / 1e30, 1, 1e-14);
  EXPECT_EQ(slopes(special_log_ndtr, 50), std::make_pair(0.0, 0.0));
  EXPECT_NEAR(slopes(special_log_ndtr, -100).second, -0.99990005995, 1e-9);
}

TEST(Special, NoGradients) {
  const Tensor x = tensor({0.5}, TensorOptions(kDouble).requires_grad(true));
  EXPECT_FALSE(special_airy_ai(x).requires_grad());
  EXPECT_FALSE(special_scaled_modified_bessel_k0(x).requires_grad());
  EXPECT_FALSE(special_legendre_polynomial_p(x, 2).requires_grad());
  try {
    special_zeta(x + 1, 2).sum().backward();
    FAIL() << "a derivative that does not exist";
  } catch (const NotImplementedError& e) {
    EXPECT_NE(std::string(e.what()).find("the derivative for 'special_zeta.other_scalar: self'"),
              std::string::npos)
        << e.what();
  }
}

// Integers become the default float dtype; a fraction of a degree is cut off.
TEST(Special, DtypesOfPolynomials) {
  const Tensor n = arange(-1, 4);
  const Tensor y = special_hermite_polynomial_he(2, n);
  EXPECT_EQ(y.scalar_type(), kFloat);
  EXPECT_TRUE(y.equal(tensor({0.0F, 1.0F, 2.0F, 3.0F, 2.0F})));
  EXPECT_TRUE(
      special_hermite_polynomial_he(2, n + 0.75).equal(tensor({1.0F, 1.0F, 2.0F, 3.0F, 2.0F})));
  EXPECT_EQ(special_zeta(n.to(kHalf), 2.5).scalar_type(), kHalf);
}

}  // namespace
