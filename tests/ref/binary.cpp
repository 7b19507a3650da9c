// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic of two elements.
#include <algorithm>

#include "elementwise.h"
#include "tenon/sdk/ops/_div_trunc.h"
#include "tenon/sdk/ops/add.h"
#include "tenon/sdk/ops/atan2.h"
#include "tenon/sdk/ops/clamp_max.h"
#include "tenon/sdk/ops/clamp_min.h"
#include "tenon/sdk/ops/copysign.h"
#include "tenon/sdk/ops/div.h"
#include "tenon/sdk/ops/floor_divide.h"
#include "tenon/sdk/ops/fmax.h"
#include "tenon/sdk/ops/fmin.h"
#include "tenon/sdk/ops/fmod.h"
#include "tenon/sdk/ops/gcd.h"
#include "tenon/sdk/ops/heaviside.h"
#include "tenon/sdk/ops/hypot.h"
#include "tenon/sdk/ops/lcm.h"
#include "tenon/sdk/ops/logaddexp.h"
#include "tenon/sdk/ops/maximum.h"
#include "tenon/sdk/ops/minimum.h"
#include "tenon/sdk/ops/mul.h"
#include "tenon/sdk/ops/pow.h"
#include "tenon/sdk/ops/remainder.h"
#include "tenon/sdk/ops/rsub.h"
#include "tenon/sdk/ops/sub.h"
#include "tenon/sdk/ops/xlogy.h"

namespace {

using namespace tenon::ref;

// Division of integers by zero is an error.
Real nonzero(Real y, bool whole) {
  if (whole && y == 0) throw tenon::sdk::Error(TN_ERROR_VALUE, "integer division by zero");
  return y;
}

Real divide(Real x, Real y, bool whole, bool floor) {
  const Real q = x / nonzero(y, whole);
  // As Python's //: nothing is the quotient of an infinity, and -1 that of a small number and the
  // other infinity.
  if (floor && !whole && std::isinf(x) && y != 0) return NAN;
  if (floor && std::isinf(y) && x != 0 && !std::isnan(x)) return (x < 0) != (y < 0) ? -1 : 0;
  return floor ? std::floor(q) : std::trunc(q);
}

Real modulo(Real x, Real y, bool whole) { return std::fmod(x, nonzero(y, whole)); }

// The sign of the divisor.
Real remainder(Real x, Real y, bool whole) {
  const Real r = modulo(x, y, whole);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

// Integers by repeated products, modulo 2^64.
Real power(Real x, Real y, bool whole) {
  if (!whole) return std::pow(x, y);
  if (y < 0) return x == 1 ? 1 : x == -1 ? (std::fmod(y, Real(2)) == 0 ? 1 : -1) : 0;
  uint64_t r = 1;
  for (int64_t n = static_cast<int64_t>(y); n > 0; --n) r *= static_cast<uint64_t>(to_int(x));
  return static_cast<Real>(static_cast<int64_t>(r));
}

// max and min that give NaN if either is.
Real pick(Real x, Real y, bool greater) {
  if (std::isnan(x) || std::isnan(y)) return x + y;
  return greater == (x > y) ? x : y;
}

Real gcd(Real x, Real y) { return y == 0 ? std::fabs(x) : gcd(y, std::fmod(x, y)); }
Real log_add(Real x, Real y) {
  if (x == y && std::isinf(x)) return x;
  return std::max(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}
Real xlogy(Real x, Real y) { return std::isnan(y) ? y : x == 0 ? 0 : x * std::log(y); }

tn_status scaled(Tensor out, Tensor a, Tensor b, Real fa, Real fb) {
  each(out.sizes(),
       [&](const Index& i) { put(out, i, fa * get_broadcast(a, i) + fb * get_broadcast(b, i)); });
  return TN_OK;
}
tn_status shifted(Tensor out, Tensor a, Real factor, Real b) {
  each(out.sizes(), [&](const Index& i) { put(out, i, factor * get_broadcast(a, i) + b); });
  return TN_OK;
}

tn_status add(Call&, Tensor out, Tensor a, Tensor b, Scalar s) {
  return scaled(out, a, b, 1, number(s));
}
tn_status sub(Call&, Tensor out, Tensor a, Tensor b, Scalar s) {
  return scaled(out, a, b, 1, -number(s));
}
tn_status rsub(Call&, Tensor out, Tensor a, Tensor b, Scalar s) {
  return scaled(out, a, b, -number(s), 1);
}
tn_status add_number(Call&, Tensor out, Tensor a, Scalar b, Scalar s) {
  return shifted(out, a, 1, number(b) * number(s));
}
tn_status sub_number(Call&, Tensor out, Tensor a, Scalar b, Scalar s) {
  return shifted(out, a, 1, -number(b) * number(s));
}
tn_status rsub_number(Call&, Tensor out, Tensor a, Scalar b, Scalar s) {
  return shifted(out, a, -number(s), number(b));
}

TN_KERNEL(add_Tensor, add, REF_TRAITS);
TN_KERNEL(sub_Tensor, sub, REF_TRAITS);
TN_KERNEL(rsub_Tensor, rsub, REF_TRAITS);
TN_KERNEL(add_Scalar, add_number, REF_TRAITS);
TN_KERNEL(sub_Scalar, sub_number, REF_TRAITS);
TN_KERNEL(rsub_Scalar, rsub_number, REF_TRAITS);

REF_BINARY(mul_Tensor, x* y);
REF_SCALAR(mul_Scalar, x* y);
REF_BINARY(_div_trunc_Tensor, divide(x, y, whole, false));
REF_SCALAR(_div_trunc_Scalar, divide(x, y, whole, false));
REF_BINARY(floor_divide, divide(x, y, whole, true));
REF_SCALAR(floor_divide_Scalar, divide(x, y, whole, true));
REF_BINARY(remainder_Tensor, remainder(x, y, whole));
REF_SCALAR(remainder_Scalar, remainder(x, y, whole));
REF_SCALAR_LEFT(remainder_Scalar_Tensor, remainder(x, y, whole));
REF_BINARY(fmod_Tensor, modulo(x, y, whole));
REF_SCALAR(fmod_Scalar, modulo(x, y, whole));
REF_BINARY(pow_Tensor_Tensor, power(x, y, whole));
REF_SCALAR(pow_Tensor_Scalar, power(x, y, whole));
REF_SCALAR_LEFT(pow_Scalar, power(x, y, whole));
REF_BINARY(div_Tensor, x / y);
REF_SCALAR(div_Scalar, x / y);
REF_BINARY(maximum, pick(x, y, true));
REF_BINARY(minimum, pick(x, y, false));
REF_BINARY(fmax, std::fmax(x, y));
REF_BINARY(fmin, std::fmin(x, y));
REF_BINARY(clamp_min_Tensor, pick(x, y, true));
REF_BINARY(clamp_max_Tensor, pick(x, y, false));
REF_LIMIT(clamp_min, pick(x, y, true));
REF_LIMIT(clamp_max, pick(x, y, false));
REF_BINARY(atan2, std::atan2(x, y));
REF_BINARY(hypot, std::hypot(x, y));
REF_BINARY(logaddexp, log_add(x, y));
REF_BINARY(xlogy_Tensor, xlogy(x, y));
REF_SCALAR(xlogy_Scalar_Other, xlogy(x, y));
REF_SCALAR_LEFT(xlogy_Scalar_Self, xlogy(x, y));
REF_BINARY(copysign_Tensor, std::copysign(x, y));
REF_SCALAR(copysign_Scalar, std::copysign(x, y));
REF_BINARY(heaviside, x == 0 ? y : std::isnan(x) ? x : x > 0);
REF_BINARY(gcd, gcd(x, y));
REF_BINARY(lcm, x == 0 || y == 0 ? 0 : std::fabs(x / gcd(x, y) * y));

}  // namespace
