// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/special.h"

#include <limits>

namespace tenon::autograd::formulas {

Tensor bessel_slope(const Tensor& grad, const Tensor& self, const Tensor& order0,
                    const Tensor& order1) {
  const Tensor zero = self == 0;
  return grad * where(zero, 0.5, order0 - order1 / where(zero, 1, self));
}

Tensor bessel_y1_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor zero = self == 0;
  const Tensor slope = special_bessel_y0(self) - result / where(zero, 1, self);
  return grad * where(zero, std::numeric_limits<double>::infinity(), slope);
}

Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  const Tensor zero = self == 0, there = where(zero, 1, self);
  const Tensor slope = special_i0e(self) - result * (self.sign() + there.reciprocal());
  return grad * where(zero, 0.5, slope);
}

// The density over the distribution function. Below zero both vanish, but not their quotient.
Tensor log_ndtr_backward(const Tensor& grad, const Tensor& self) {
  const Tensor below = self.clamp_max(0), above = self.clamp_min(0);
  const Tensor tail = 0.79788456080286535588 / special_erfcx(below * -0.70710678118654752440);
  const Tensor rest =
      tenon::exp(above * above * -0.5) * 0.39894228040143267794 / special_ndtr(above);
  return grad * where(self < 0, tail, rest);
}

// Zero where grad is zero, also where the logarithm is undefined.
Tensor xlog1py_backward(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return where(logical_and(self == 0, other <= -1), 0, special_xlog1py(grad, other));
}

}  // namespace tenon::autograd::formulas
