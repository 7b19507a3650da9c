// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// 16-bit floats are computed in float32 and rounded once, as kernels do, also if an operator is
// composed of several: an intermediate result may not fit into 16 bits, or lose digits there.
// Private to libtenon.
#pragma once

#include <limits>

#include "tenon/ops.h"

namespace tenon::composite {

inline bool is_short_float(ScalarType t) { return t == kHalf || t == kBFloat16; }
inline Tensor as(const Tensor& t, ScalarType dtype) {
  return t.scalar_type() == dtype ? t : t.to(dtype);
}
inline Tensor wide(const Tensor& t) { return is_short_float(t.scalar_type()) ? t.to(kFloat) : t; }
inline ScalarType wide(ScalarType t) { return is_short_float(t) ? kFloat : t; }
inline std::optional<Tensor> wide(const std::optional<Tensor>& t) {
  return t && t->defined() ? std::optional(wide(*t)) : std::nullopt;
}
// That of rms_norm where none is given: the epsilon of what `t` is computed in.
inline double eps_or_default(std::optional<double> eps, ScalarType t) {
  const bool is_double = t == kDouble || t == kComplexDouble;
  return eps ? *eps
             : (is_double ? std::numeric_limits<double>::epsilon()
                          : std::numeric_limits<float>::epsilon());
}
// What was computed from wide(like), in like's dtype if that has 16 bits.
inline Tensor rounded(const Tensor& t, const Tensor& like) {
  return is_short_float(like.scalar_type()) ? as(t, like.scalar_type()) : t;
}
// What the dtypes of two operands promote to: of two floats, one without dimensions does not widen
// the other.
inline ScalarType promoted_type(const Tensor& a, const Tensor& b) {
  const bool floats = isFloatingType(a.scalar_type()) && isFloatingType(b.scalar_type());
  if (floats && (a.dim() == 0) != (b.dim() == 0)) return (a.dim() == 0 ? b : a).scalar_type();
  return tenon::promote_types(a.scalar_type(), b.scalar_type());
}
// That of a result which is floating for integers, too.
inline ScalarType floating_result(const Tensor& a, const Tensor& b) {
  const ScalarType t = promoted_type(a, b);
  return isFloatingType(t) ? t : get_default_dtype();
}
inline Tensor rounded(const Tensor& t, const Tensor& a, const Tensor& b) {
  const ScalarType to = promoted_type(a, b);
  return is_short_float(to) ? as(t, to) : t;
}

}  // namespace tenon::composite
