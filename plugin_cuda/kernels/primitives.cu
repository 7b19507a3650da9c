// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prim_unary, prim_binary and prim_reduce: the fallback of calls that the operator's own kernel
// declines. The code is a kernel argument, so that there is one kernel per compute type. Integers
// and bool are computed in int64: truncated to the dtype, results wrap as in the dtype.
#include "plugin_cuda/device/primitives.cuh"

#include "plugin_cuda/device/element.cuh"
#include "plugin_cuda/device/fault.cuh"
#include "plugin_cuda/device/index.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "plugin_cuda/device/reduce.cuh"
#include "plugin_cuda/device/special.h"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/prim_binary.h"
#include "tenon/sdk/ops/prim_reduce.h"
#include "tenon/sdk/ops/prim_unary.h"
#include "tenon/sdk/scalar_math.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

#define ON(CODE, expr) \
  case TN_##CODE:      \
    return static_cast<C>(expr);

template <class C>
TN_DEVICE C unary_float(int code, C a) {
  switch (code) {
    ON(UNARY_SQRT, math::sqrt(a))
    ON(UNARY_RSQRT, C(1) / math::sqrt(a))
    ON(UNARY_RECIPROCAL, C(1) / a)
    ON(UNARY_EXP, math::exp(a))
    ON(UNARY_EXP2, math::exp2(a))
    ON(UNARY_EXPM1, math::expm1(a))
    ON(UNARY_LOG, math::log(a))
    ON(UNARY_LOG2, math::log2(a))
    ON(UNARY_LOG10, math::log10(a))
    ON(UNARY_LOG1P, math::log1p(a))
    ON(UNARY_SIN, math::sin(a))
    ON(UNARY_COS, math::cos(a))
    ON(UNARY_TAN, math::tan(a))
    ON(UNARY_ASIN, math::asin(a))
    ON(UNARY_ACOS, math::acos(a))
    ON(UNARY_ATAN, math::atan(a))
    ON(UNARY_SINH, math::sinh(a))
    ON(UNARY_COSH, math::cosh(a))
    ON(UNARY_TANH, math::tanh(a))
    ON(UNARY_ASINH, math::asinh(a))
    ON(UNARY_ACOSH, math::acosh(a))
    ON(UNARY_ATANH, math::atanh(a))
    ON(UNARY_SIGMOID, math::sigmoid(a))
    ON(UNARY_ERF, math::erf(a))
    ON(UNARY_ERFC, math::erfc(a))
    ON(UNARY_ERFINV, math::erfinv(a))
    ON(UNARY_LGAMMA, math::lgamma(a))
    ON(UNARY_DIGAMMA, math::digamma(a))
    default:
      return math::i0(a);
  }
}

template <class C>
TN_DEVICE C unary(int code, C a, Code dtype) {
  switch (code) {
    ON(UNARY_NEG, -a)
    ON(UNARY_ABS, math::abs(a))
    ON(UNARY_SIGN, math::sign(a))
    ON(UNARY_FLOOR, math::floor(a))
    ON(UNARY_CEIL, math::ceil(a))
    ON(UNARY_ROUND, math::round(a))
    ON(UNARY_TRUNC, math::trunc(a))
    ON(UNARY_LOGICAL_NOT, a == C(0))
    ON(UNARY_ISNAN, math::isnan(a))
    ON(UNARY_ISINF, math::isinf(a))
    ON(UNARY_ISFINITE, math::isfinite(a))
    ON(UNARY_SIGNBIT, math::signbit(a))
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<C>) {
    return unary_float(code, a);
  } else {
    return dtype == Code::BOOL ? a == 0 : math::bit_not(a);
  }
}

template <class C>
TN_DEVICE C binary_float(int code, C a, C b) {
  switch (code) {
    ON(BINARY_DIV, a / b)
    ON(BINARY_ATAN2, math::atan2(a, b))
    ON(BINARY_HYPOT, math::hypot(a, b))
    ON(BINARY_COPYSIGN, math::copysign(a, b))
    ON(BINARY_LOGADDEXP, math::logaddexp(a, b))
    ON(BINARY_XLOGY, math::xlogy(a, b))
    default:
      return math::nextafter(a, b);
  }
}

TN_DEVICE int64_t binary_integer(int code, int64_t a, int64_t b) {
  using C = int64_t;
  switch (code) {
    ON(BINARY_GCD, math::gcd(a, b))
    ON(BINARY_BITWISE_AND, a & b)
    ON(BINARY_BITWISE_OR, a | b)
    ON(BINARY_BITWISE_XOR, a ^ b)
    ON(BINARY_SHIFT_LEFT, math::shift_left(a, b))
    default:
      return math::shift_right(a, b);
  }
}

template <class C>
TN_DEVICE C binary(int code, C a, C b) {
  using U = std::conditional_t<std::is_integral_v<C>, uint64_t, C>;
  switch (code) {
    ON(BINARY_ADD, static_cast<U>(a) + static_cast<U>(b))
    ON(BINARY_SUB, static_cast<U>(a) - static_cast<U>(b))
    ON(BINARY_MUL, static_cast<U>(a) * static_cast<U>(b))
    ON(BINARY_DIV_TRUNC, math::div_trunc(a, b))
    ON(BINARY_DIV_FLOOR, math::div_floor(a, b))
    ON(BINARY_REMAINDER, math::remainder(a, b))
    ON(BINARY_FMOD, math::fmod(a, b))
    ON(BINARY_POW, math::pow(a, b))
    ON(BINARY_MAX, math::maximum(a, b))
    ON(BINARY_MIN, math::minimum(a, b))
    ON(BINARY_FMAX, math::fmax(a, b))
    ON(BINARY_FMIN, math::fmin(a, b))
    ON(BINARY_EQ, a == b)
    ON(BINARY_NE, a != b)
    ON(BINARY_LT, a < b)
    ON(BINARY_LE, a <= b)
    ON(BINARY_GT, a > b)
    ON(BINARY_GE, a >= b)
    ON(BINARY_LOGICAL_AND, a != C(0) && b != C(0))
    ON(BINARY_LOGICAL_OR, a != C(0) || b != C(0))
    ON(BINARY_LOGICAL_XOR, (a != C(0)) != (b != C(0)))
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<C>)
    return binary_float(code, a, b);
  else
    return binary_integer(code, a, b);
}
#undef ON

bool divides(int64_t code) { return code >= TN_BINARY_DIV_TRUNC && code <= TN_BINARY_FMOD; }
bool shifts(int64_t code) { return code == TN_BINARY_SHIFT_LEFT || code == TN_BINARY_SHIFT_RIGHT; }

// What the second operand of integers must be: in [0, high), or not 0.
struct Bounds {
  int64_t high = 0;  // 0: no bound
  bool nonzero = false;
  Faults faults;
  TN_DEVICE bool admit(int64_t b) const {
    if (nonzero && b == 0) {
      faults.report(TN_ERROR, b, 0);
      return false;
    }
    if (high > 0 && (b < 0 || b >= high)) {
      faults.report(TN_ERROR_VALUE, b, 0);
      return false;
    }
    return true;
  }
};

template <class C>
__global__ void unary_elements(Strided<2> at, Code out, Code in, int code) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[2];
    at.offsets(static_cast<uint32_t>(i), offset);
    store(at.base[0] + offset[0], out, unary(code, load<C>(at.base[1] + offset[1], in), in));
  }
}

template <class C>
__global__ void binary_elements(Strided<3> at, Code out, Code in, int code, Bounds bounds) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    int64_t offset[3];
    at.offsets(static_cast<uint32_t>(i), offset);
    const C a = load<C>(at.base[1] + offset[1], in), b = load<C>(at.base[2] + offset[2], in);
    char* to = at.base[0] + offset[0];
    if constexpr (std::is_integral_v<C>) {
      if (!bounds.admit(b)) {
        store(to, out, C(0));
        continue;
      }
    }
    store(to, out, binary(code, a, b));
  }
}

// Whether a code is known and supports the dtype. Otherwise the host reports the error.
bool unary_fits(int64_t code, DType dtype) {
  if (code == TN_UNARY_NEG) return dtype != kBool;
  if (code == TN_UNARY_BITWISE_NOT) return !is_floating(dtype);
  if (code >= TN_UNARY_SQRT && code <= TN_UNARY_I0) return is_floating(dtype);
  return code < TN_UNARY_BITWISE_NOT || (code >= TN_UNARY_LOGICAL_NOT && code <= TN_UNARY_SIGNBIT);
}
bool binary_fits(int64_t code, DType dtype) {
  if (code == TN_BINARY_SUB || divides(code)) return dtype != kBool;
  if (code == TN_BINARY_DIV || (code >= TN_BINARY_ATAN2 && code <= TN_BINARY_XLOGY))
    return is_floating(dtype);
  if (code == TN_BINARY_GCD || shifts(code)) return !is_floating(dtype) && dtype != kBool;
  if (code >= TN_BINARY_BITWISE_AND && code <= TN_BINARY_BITWISE_XOR) return !is_floating(dtype);
  return code <= TN_BINARY_FMIN || (code >= TN_BINARY_EQ && code <= TN_BINARY_LOGICAL_XOR);
}

tn_status prim_unary(Call& call, Tensor out, Tensor self, int64_t code) {
  if (special_unary(call, out, self, code)) return TN_OK;
  if (!unary_fits(code, self.dtype())) return TN_DECLINED;
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(self);
  loop.finish();
  with_compute(self.dtype(), [&](auto tag) {
    for_each_piece<2>(loop, [&](const Strided<2>& at) {
      launch<unary_elements<tn_type(tag)>>(call, shape_for(call, at.numel, 256, 2), at,
                                           code_of(out.dtype()), code_of(self.dtype()),
                                           static_cast<int>(code));
    });
  });
  return TN_OK;
}

tn_status prim_binary(Call& call, Tensor out, Tensor self, Tensor other, int64_t code) {
  if (special_binary(call, out, self, other, code)) return TN_OK;
  if (!binary_fits(code, self.dtype())) return TN_DECLINED;
  const Bounds bounds{shifts(code) ? 8 * item_size(self.dtype()) : 0, divides(code), Faults(call)};
  StridedLoop loop(out.sizes());
  loop.add(out);
  loop.add(self);
  loop.add(other);
  loop.finish();
  with_compute(self.dtype(), [&](auto tag) {
    for_each_piece<3>(loop, [&](const Strided<3>& at) {
      launch<binary_elements<tn_type(tag)>>(call, shape_for(call, at.numel, 256, 2), at,
                                            code_of(out.dtype()), code_of(self.dtype()),
                                            static_cast<int>(code), bounds);
    });
  });
  return TN_OK;
}

tn_status prim_reduce(Call& call, Tensor out, Tensor self, int64_t dim, int64_t code) {
  switch (code) {
    case TN_REDUCE_SUM:
      return reduce_sum(call, out, self, dim);
    case TN_REDUCE_PROD:
      return reduce_prod(call, out, self, dim);
    case TN_REDUCE_ANY:
    case TN_REDUCE_ALL:
      return reduce_logic(call, out, self, dim, code == TN_REDUCE_ALL);
    case TN_REDUCE_MAX:
    case TN_REDUCE_MIN:
    case TN_REDUCE_ARGMAX:
    case TN_REDUCE_ARGMIN:
      return reduce_extremum(call, out, self, dim, code);
    default:
      return TN_DECLINED;
  }
}

}  // namespace

TN_KERNEL(prim_unary, prim_unary, dtypes("all").any_strides().inplace("0=0").capture_safe());
TN_KERNEL(prim_binary, prim_binary, dtypes("all").any_strides().inplace("0=0,0=1").capture_safe());
TN_KERNEL(prim_reduce, prim_reduce,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
