// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {

#define TENON_ALIAS(name, of)                                                                      \
  Tensor name##_Tensor(const Tensor& self, const Tensor& other) { return tenon::of(self, other); } \
  Tensor name##_Scalar(const Tensor& self, const Scalar& other) { return tenon::of(self, other); }
TENON_ALIAS(not_equal, ne)
TENON_ALIAS(less, lt)
TENON_ALIAS(less_equal, le)
TENON_ALIAS(greater, gt)
TENON_ALIAS(greater_equal, ge)
#undef TENON_ALIAS

Tensor isneginf(const Tensor& self) {
  if (!isFloatingType(self.scalar_type()))
    return tenon::zeros_like(self, TensorOptions().dtype(kBool));
  return self == -std::numeric_limits<double>::infinity();
}
Tensor isposinf(const Tensor& self) {
  if (!isFloatingType(self.scalar_type()))
    return tenon::zeros_like(self, TensorOptions().dtype(kBool));
  return self == std::numeric_limits<double>::infinity();
}
Tensor isreal(const Tensor& self) {
  if (self.is_complex()) return tenon::imag(self) == 0;
  return tenon::ones_like(self, TensorOptions().dtype(kBool));
}

}  // namespace tenon::composite
