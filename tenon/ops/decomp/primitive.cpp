// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The primitives on the host: the operators that they stand for.
#include "tenon/abi/primitives.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::decomp {
namespace {

[[noreturn]] void unknown(const char* op, int64_t code) {
  throw NotImplementedError(
      core::join(op, ": the host knows no code ", code, "; see tenon/abi/primitives.h"));
}

Tensor index_of(std::tuple<Tensor, Tensor> both) { return std::move(std::get<1>(both)); }

}  // namespace

Tensor prim_unary(const Tensor& self, int64_t code) {
  using F = Tensor (*)(const Tensor&);
  // The code takes any dtype, the operator refuses bool.
  constexpr F magnitude = [](const Tensor& x) {
    return x.scalar_type() == kBool ? x.clone() : tenon::abs(x);
  };
  static constexpr F operators[] = {
      neg,        magnitude, sign, floor,  ceil,   round,   trunc, bitwise_not, sqrt,  rsqrt,
      reciprocal, exp,       exp2, expm1,  log,    log2,    log10, log1p,       sin,   cos,
      tan,        asin,      acos, atan,   sinh,   cosh,    tanh,  asinh,       acosh, atanh,
      sigmoid,    erf,       erfc, erfinv, lgamma, digamma, i0};
  static_assert(sizeof operators / sizeof operators[0] == TN_UNARY_I0 + 1);
  static constexpr F special[] = {special_erfcx,
                                  special_entr,
                                  special_log_ndtr,
                                  special_ndtri,
                                  special_i0e,
                                  special_i1,
                                  special_i1e,
                                  special_modified_bessel_k0,
                                  special_modified_bessel_k1,
                                  special_scaled_modified_bessel_k0,
                                  special_scaled_modified_bessel_k1,
                                  special_bessel_j0,
                                  special_bessel_j1,
                                  special_bessel_y0,
                                  special_bessel_y1,
                                  special_spherical_bessel_j0,
                                  special_airy_ai};
  static_assert(sizeof special / sizeof special[0] == TN_UNARY_AIRY_AI - TN_UNARY_I0);
  static constexpr F tests[] = {logical_not, isnan, isinf, isfinite, signbit};
  static_assert(sizeof tests / sizeof tests[0] == TN_UNARY_SIGNBIT - TN_UNARY_LOGICAL_NOT + 1);
  if (code <= TN_UNARY_I0) return operators[code](self);
  if (code <= TN_UNARY_AIRY_AI) return special[code - TN_UNARY_ERFCX](self);
  if (code < TN_UNARY_LOGICAL_NOT || code > TN_UNARY_SIGNBIT) unknown("prim_unary", code);
  return tests[code - TN_UNARY_LOGICAL_NOT](self);
}

Tensor prim_binary(const Tensor& self, const Tensor& other, int64_t code) {
  using F = Tensor (*)(const Tensor&, const Tensor&);
  static constexpr F operators[] = {[](const Tensor& a, const Tensor& b) { return a + b; },
                                    [](const Tensor& a, const Tensor& b) { return a - b; },
                                    mul,
                                    div,
                                    _div_trunc,
                                    floor_divide,
                                    remainder,
                                    fmod,
                                    pow,
                                    maximum,
                                    minimum,
                                    fmax,
                                    fmin,
                                    atan2,
                                    hypot,
                                    nextafter,
                                    copysign,
                                    logaddexp,
                                    xlogy,
                                    gcd,
                                    bitwise_and,
                                    bitwise_or,
                                    bitwise_xor,
                                    bitwise_left_shift,
                                    bitwise_right_shift};
  static_assert(sizeof operators / sizeof operators[0] == TN_BINARY_SHIFT_RIGHT + 1);
  static constexpr F special[] = {special_xlog1py,
                                  special_zeta,
                                  special_chebyshev_polynomial_t,
                                  special_chebyshev_polynomial_u,
                                  special_chebyshev_polynomial_v,
                                  special_chebyshev_polynomial_w,
                                  special_shifted_chebyshev_polynomial_t,
                                  special_shifted_chebyshev_polynomial_u,
                                  special_shifted_chebyshev_polynomial_v,
                                  special_shifted_chebyshev_polynomial_w,
                                  special_hermite_polynomial_h,
                                  special_hermite_polynomial_he,
                                  special_laguerre_polynomial_l,
                                  special_legendre_polynomial_p};
  static_assert(sizeof special / sizeof special[0] ==
                TN_BINARY_LEGENDRE_POLYNOMIAL_P - TN_BINARY_SHIFT_RIGHT);
  static constexpr F tests[] = {eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor};
  static_assert(sizeof tests / sizeof tests[0] == TN_BINARY_LOGICAL_XOR - TN_BINARY_EQ + 1);
  if (code <= TN_BINARY_SHIFT_RIGHT) return operators[code](self, other);
  if (code <= TN_BINARY_LEGENDRE_POLYNOMIAL_P)
    return special[code - TN_BINARY_XLOG1PY](self, other);
  if (code < TN_BINARY_EQ || code > TN_BINARY_LOGICAL_XOR) unknown("prim_binary", code);
  return tests[code - TN_BINARY_EQ](self, other);
}

Tensor prim_reduce(const Tensor& self, int64_t dim, int64_t code) {
  switch (code) {
    case TN_REDUCE_SUM:
      return self.sum(dim, true, self.scalar_type());
    case TN_REDUCE_PROD:
      return self.prod(dim, true, self.scalar_type());
    case TN_REDUCE_MAX:
      return self.amax(dim, true);
    case TN_REDUCE_MIN:
      return self.amin(dim, true);
    case TN_REDUCE_ARGMAX:
      return (self.scalar_type() == kBool ? self.to(kByte) : self).argmax(dim, true);
    case TN_REDUCE_ARGMIN:
      return (self.scalar_type() == kBool ? self.to(kByte) : self).argmin(dim, true);
    case TN_REDUCE_ANY:
      return self.ne(0).any(dim, true);
    default:
      return self.ne(0).all(dim, true);
  }
}

Tensor prim_scan(const Tensor& self, int64_t dim, int64_t code) {
  switch (code) {
    case TN_REDUCE_SUM:
      return self.cumsum(dim, self.scalar_type());
    case TN_REDUCE_PROD:
      return self.cumprod(dim, self.scalar_type());
    case TN_REDUCE_MAX:
      return std::get<0>(self.cummax(dim));
    default:
      return std::get<0>(self.cummin(dim));
  }
}

Tensor prim_scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    int64_t code) {
  switch (code) {
    case TN_SCATTER_SET:
      return self.scatter(dim, index, src);
    case TN_SCATTER_ADD:
      return self.scatter_add(dim, index, src);
    case TN_SCATTER_MAX:
      return self.scatter_reduce(dim, index, src, "amax");
    case TN_SCATTER_MIN:
      return self.scatter_reduce(dim, index, src, "amin");
    case TN_SCATTER_MUL:
      return self.scatter_reduce(dim, index, src, "prod");
    default:
      unknown("prim_scatter", code);
  }
}

Tensor prim_argsort(const Tensor& self, bool descending) {
  return index_of(self.sort(true, -1, descending));
}

}  // namespace tenon::decomp
