// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Complex tensors from parts, and their angles.
#include "tenon/ops/complex.h"

#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

void check_parts(const char* op, const char* a, const Tensor& first, const char* b,
                 const Tensor& second) {
  const auto real = [](ScalarType t) { return t == kFloat || t == kDouble; };
  TENON_CHECK(real(first.scalar_type()) && real(second.scalar_type()), TypeError, op,
              ": Expected both inputs to be Half, Float or Double tensors but got ",
              toString(first.scalar_type()), " and ", toString(second.scalar_type()));
  TENON_CHECK(first.scalar_type() == second.scalar_type(), TypeError, op,
              ": Expected object of scalar type ", toString(first.scalar_type()),
              " but got scalar type ", toString(second.scalar_type()), " for argument '", b,
              "' beside '", a, "'");
}

}  // namespace

Tensor complex(const Tensor& real, const Tensor& imag) {
  check_parts("complex", "real", real, "imag", imag);
  const std::vector<Tensor> parts = tenon::broadcast_tensors({real, imag});
  return joined(parts[0], parts[1]);
}

Tensor polar(const Tensor& abs, const Tensor& angle) {
  check_parts("polar", "abs", abs, "angle", angle);
  return joined(abs * tenon::cos(angle), abs * tenon::sin(angle));
}

Tensor angle(const Tensor& self) {
  if (self.is_complex()) return tenon::atan2(tenon::imag(self), tenon::real(self));
  const Tensor x = isFloatingType(self.scalar_type()) ? self : self.to(get_default_dtype());
  // Times 0: it is constant, and its gradient zero, in NaN too.
  return tenon::where(x < 0, 3.14159265358979323846, tenon::where(x == x, 0, x * 0))
      .to(x.scalar_type());
}

}  // namespace tenon::composite
