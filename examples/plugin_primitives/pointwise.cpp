// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_unary, prim_binary, where, copy, fill: one element at a time, with the scalar functions of
// the SDK.
#include "tenon/abi/primitives.h"
#include "tenon/sdk/kernel.h"
#include "tenon/sdk/loops.h"
#include "tenon/sdk/ops/copy.h"
#include "tenon/sdk/ops/fill.h"
#include "tenon/sdk/ops/prim_binary.h"
#include "tenon/sdk/ops/prim_unary.h"
#include "tenon/sdk/ops/where.h"
#include "tenon/sdk/scalar_math.h"
#include "tenon/sdk/special_codes.h"

namespace {

using namespace tenon;
using namespace tenon::sdk;
TN_MATH_USING

// f(element of out, elements of the others) for each position.
template <class O, class... I, class F, std::size_t... K>
void for_each_element(F f, std::index_sequence<K...>, const Tensor& out,
                      const std::initializer_list<Tensor>& in) {
  StridedLoop loop(out.sizes());
  loop.add(out);
  for (const Tensor& t : in) loop.add(t);
  loop.finish();
  loop.run(0, loop.numel, [&](char* const* p, const int64_t* s, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      *reinterpret_cast<O*>(p[0] + i * s[0]) =
          f(*reinterpret_cast<const I*>(p[K + 1] + i * s[K + 1])...);
    }
  });
}
template <class O, class... I, class F>
void map(F f, const Tensor& out, std::initializer_list<Tensor> in) {
  for_each_element<O, I...>(f, std::index_sequence_for<I...>{}, out, in);
}

#define ON(CODE, expr) \
  case TN_##CODE:      \
    return static_cast<T>(expr);
#define IS(CODE, expr) \
  case TN_##CODE:      \
    return expr;

template <class T>
T unary(int64_t code, T a) {
  if (std::is_same_v<T, bool> && code == TN_UNARY_NEG)
    throw Error(TN_ERROR_UNSUPPORTED, "neg of bool");
  switch (code) {
    ON(UNARY_NEG, -a)
    ON(UNARY_ABS, sdk::math::abs(a))
    ON(UNARY_SIGN, sign(a))
    ON(UNARY_FLOOR, floor(a))
    ON(UNARY_CEIL, ceil(a))
    ON(UNARY_ROUND, round(a))
    ON(UNARY_TRUNC, trunc(a))
  }
  if constexpr (std::is_integral_v<T>) {
    if (code == TN_UNARY_BITWISE_NOT) return bit_not(a);
  } else {
    switch (code) {
      ON(UNARY_SQRT, sqrt(a))
      ON(UNARY_RSQRT, T(1) / sqrt(a))
      ON(UNARY_RECIPROCAL, T(1) / a)
      ON(UNARY_EXP, exp(a))
      ON(UNARY_EXP2, exp2(a))
      ON(UNARY_EXPM1, expm1(a))
      ON(UNARY_LOG, log(a))
      ON(UNARY_LOG2, log2(a))
      ON(UNARY_LOG10, log10(a))
      ON(UNARY_LOG1P, log1p(a))
      ON(UNARY_SIN, sin(a))
      ON(UNARY_COS, cos(a))
      ON(UNARY_TAN, tan(a))
      ON(UNARY_ASIN, asin(a))
      ON(UNARY_ACOS, acos(a))
      ON(UNARY_ATAN, atan(a))
      ON(UNARY_SINH, sinh(a))
      ON(UNARY_COSH, cosh(a))
      ON(UNARY_TANH, tanh(a))
      ON(UNARY_ASINH, asinh(a))
      ON(UNARY_ACOSH, acosh(a))
      ON(UNARY_ATANH, atanh(a))
      ON(UNARY_SIGMOID, sigmoid(a))
      ON(UNARY_ERF, erf(a))
      ON(UNARY_ERFC, erfc(a))
      ON(UNARY_ERFINV, erfinv(a))
      ON(UNARY_LGAMMA, lgamma(a))
      ON(UNARY_DIGAMMA, digamma(a))
      ON(UNARY_I0, i0(a))
    }
    if (sdk::math::is_special_unary(code)) return T(sdk::math::special_unary(code, a));
  }
  throw Error(TN_ERROR_UNSUPPORTED, "prim_unary: code ", code, " does not fit the dtype");
}

template <class T>
bool unary_predicate(int64_t code, T a) {
  switch (code) {
    IS(UNARY_LOGICAL_NOT, a == T(0))
    IS(UNARY_ISNAN, isnan(a))
    IS(UNARY_ISINF, isinf(a))
    IS(UNARY_ISFINITE, isfinite(a))
    default:
      return signbit(a);
  }
}

tn_status prim_unary(Call&, Tensor out, Tensor self, int64_t code) {
  if (code > TN_UNARY_SIGNBIT || (code > TN_UNARY_AIRY_AI && code < TN_UNARY_LOGICAL_NOT))
    return TN_DECLINED;
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    if (code >= TN_UNARY_LOGICAL_NOT)
      map<bool, T>([&](T a) { return unary_predicate<C>(code, a); }, out, {self});
    else
      map<T, T>([&](T a) { return T(unary<C>(code, a)); }, out, {self});
  });
  return TN_OK;
}

template <class T>
void check_divisor(T b) {
  if (!std::is_floating_point_v<T> && b == T(0))
    throw Error(TN_ERROR, "ZeroDivisionError: division by zero of integers");
}

template <class T>
T binary_integral(int64_t code, T a, T b) {
  if (code == TN_BINARY_SHIFT_LEFT || code == TN_BINARY_SHIFT_RIGHT) {
    if (b < T(0) || static_cast<uint64_t>(b) >= 8 * sizeof(T))
      throw Error(TN_ERROR_VALUE, "shift by ", b);
  }
  switch (code) {
    ON(BINARY_GCD, gcd(a, b))
    ON(BINARY_BITWISE_AND, a & b)
    ON(BINARY_BITWISE_OR, a | b)
    ON(BINARY_BITWISE_XOR, a ^ b)
    ON(BINARY_SHIFT_LEFT, shift_left(a, b))
    ON(BINARY_SHIFT_RIGHT, shift_right(a, b))
  }
  throw Error(TN_ERROR_UNSUPPORTED, "prim_binary: code ", code, " does not fit the dtype");
}

template <class T>
T binary_floating(int64_t code, T a, T b) {
  switch (code) {
    ON(BINARY_DIV, a / b)
    ON(BINARY_ATAN2, atan2(a, b))
    ON(BINARY_HYPOT, hypot(a, b))
    ON(BINARY_NEXTAFTER, nextafter(a, b))
    ON(BINARY_COPYSIGN, copysign(a, b))
    ON(BINARY_LOGADDEXP, logaddexp(a, b))
    ON(BINARY_XLOGY, xlogy(a, b))
  }
  if (sdk::math::is_special_binary(code)) return T(sdk::math::special_binary(code, a, b));
  throw Error(TN_ERROR_UNSUPPORTED, "prim_binary: code ", code, " does not fit the dtype");
}

template <class T>
T binary(int64_t code, T a, T b) {
  if (code >= TN_BINARY_DIV_TRUNC && code <= TN_BINARY_FMOD) check_divisor(b);
  using U = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;  // wraps
  switch (code) {
    ON(BINARY_ADD, U(a) + U(b))
    ON(BINARY_SUB, U(a) - U(b))
    ON(BINARY_MUL, U(a) * U(b))
    ON(BINARY_DIV_TRUNC, div_trunc(a, b))
    ON(BINARY_DIV_FLOOR, div_floor(a, b))
    ON(BINARY_REMAINDER, remainder(a, b))
    ON(BINARY_FMOD, fmod(a, b))
    ON(BINARY_POW, pow(a, b))
    ON(BINARY_MAX, maximum(a, b))
    ON(BINARY_MIN, minimum(a, b))
    ON(BINARY_FMAX, fmax(a, b))
    ON(BINARY_FMIN, fmin(a, b))
  }
  if constexpr (std::is_integral_v<T>)
    return binary_integral(code, a, b);
  else
    return binary_floating(code, a, b);
}

template <class T>
bool compare(int64_t code, T a, T b) {
  switch (code) {
    IS(BINARY_EQ, a == b)
    IS(BINARY_NE, a != b)
    IS(BINARY_LT, a < b)
    IS(BINARY_LE, a <= b)
    IS(BINARY_GT, a > b)
    IS(BINARY_GE, a >= b)
    IS(BINARY_LOGICAL_AND, a != T(0) && b != T(0))
    IS(BINARY_LOGICAL_OR, a != T(0) || b != T(0))
    default:
      return (a != T(0)) != (b != T(0));
  }
}

tn_status prim_binary(Call&, Tensor out, Tensor self, Tensor other, int64_t code) {
  if (code > TN_BINARY_LOGICAL_XOR ||
      (code > TN_BINARY_LEGENDRE_POLYNOMIAL_P && code < TN_BINARY_EQ))
    return TN_DECLINED;
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    using C = compute_t<T>;
    if (code >= TN_BINARY_EQ)
      map<bool, T, T>([&](T a, T b) { return compare<C>(code, a, b); }, out, {self, other});
    else
      map<T, T, T>([&](T a, T b) { return T(binary<C>(code, a, b)); }, out, {self, other});
  });
  return TN_OK;
}

tn_status where(Call&, Tensor out, Tensor condition, Tensor self, Tensor other) {
  dispatch_size(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    map<T, bool, T, T>([](bool c, T a, T b) { return c ? a : b; }, out, {condition, self, other});
  });
  return TN_OK;
}

// Floats are converted to integers through int64.
template <class To, class From>
To convert(From v) {
  if constexpr (std::is_same_v<To, bool>)
    return v != From(0);
  else if constexpr (is_half_v<To>)
    return To(static_cast<float>(v));
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return static_cast<To>(v >= From(-0x1p63) && v < From(0x1p63) ? static_cast<int64_t>(v) : 0);
  else
    return static_cast<To>(v);
}

tn_status copy(Call&, Tensor out, Tensor, Tensor src, bool) {
  dispatch_all(out.dtype(), [&](auto to) {
    dispatch_all(src.dtype(), [&](auto from) {
      using S = tn_type(from);
      using D = tn_type(to);
      map<D, S>([](S v) { return convert<D>(static_cast<compute_t<S>>(v)); }, out, {src});
    });
  });
  return TN_OK;
}

tn_status fill(Call&, Tensor out, Tensor, Scalar value) {
  dispatch_all(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    map<T>([v = value.to<T>()] { return v; }, out, {});
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(prim_unary, prim_unary, any_strides().inplace("0=0"));
TN_KERNEL(prim_binary, prim_binary, any_strides().inplace("0=0,0=1"));
TN_KERNEL(where_self, where, any_strides());
TN_KERNEL(copy, copy, any_strides().mixed_dtypes().inplace("0=0"));
TN_KERNEL(fill_Scalar, fill, any_strides().inplace("0=0"));
