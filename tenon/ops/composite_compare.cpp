// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tenon/core/error.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"

namespace tenon::composite {

#define TENON_ALIAS(name, of)                                                                          \
  Tensor name##_Tensor(const Tensor& self, const Tensor& other) { return tenon::of(self, other); }     \
  Tensor name##_Scalar(const Tensor& self, const Scalar& other) { return tenon::of(self, other); }
TENON_ALIAS(not_equal, ne)
TENON_ALIAS(less, lt)
TENON_ALIAS(less_equal, le)
TENON_ALIAS(greater, gt)
TENON_ALIAS(greater_equal, ge)
#undef TENON_ALIAS

Tensor isneginf(const Tensor& self) {
  if (!isFloatingType(self.scalar_type())) return tenon::zeros_like(self, TensorOptions().dtype(kBool));
  return self == -std::numeric_limits<double>::infinity();
}
Tensor isposinf(const Tensor& self) {
  if (!isFloatingType(self.scalar_type())) return tenon::zeros_like(self, TensorOptions().dtype(kBool));
  return self == std::numeric_limits<double>::infinity();
}
Tensor isreal(const Tensor& self) { return tenon::ones_like(self, TensorOptions().dtype(kBool)); }

// Equal, both NaN where asked for, or finite and within the tolerance.
Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  TENON_CHECK(self.scalar_type() == other.scalar_type(), TypeError, "isclose: expected one dtype, got ",
              toString(self.scalar_type()), " and ", toString(other.scalar_type()));
  TENON_CHECK(rtol >= 0 && atol >= 0, ValueError, "isclose: rtol and atol must not be negative");
  Tensor close = self == other;
  if (equal_nan && isFloatingType(self.scalar_type())) {
    close = tenon::logical_or(close, tenon::logical_and(self != self, other != other));
  }
  if (rtol == 0 && atol == 0) return close;
  const ScalarType t = isFloatingType(self.scalar_type()) ? self.scalar_type() : get_default_dtype();
  const Tensor a = self.to(t), b = other.to(t);
  const Tensor error = tenon::abs(a - b), allowed = tenon::abs(b * rtol) + atol;
  return tenon::logical_or(close, tenon::logical_and(tenon::isfinite(error), error <= allowed));
}

bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return tenon::all(tenon::isclose(self, other, rtol, atol, equal_nan)).item<bool>();
}

bool equal(const Tensor& self, const Tensor& other) {
  if (self.sizes() != other.sizes()) return false;
  if (self.numel() == 0) return true;
  return tenon::all(self == other).item<bool>();
}

}  // namespace tenon::composite
