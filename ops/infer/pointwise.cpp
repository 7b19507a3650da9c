// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of pointwise operators: the shape is what the tensors broadcast to, the dtype
// what the operands promote to. The names decide which numbers are operands and what becomes of
// integers.
#include <cstring>

#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

bool is_tensor(const Infer& c, int i) { return c.in[i].tag == TN_TAG_TENSOR; }

// All tensors from argument `first` on are operands.
void take_tensors(Infer& c, int first = 0) {
  for (int i = first; i < c.op.n_args; ++i) {
    if (!is_tensor(c, i)) continue;
    c.cast(i);
    c.expand(i);
  }
}

void shape(Infer& c, ScalarType dtype) {
  switch (c.op.n_args) {
    case 1:
      return c.broadcast_shape(0, {0}, dtype);
    case 2:
      return c.broadcast_shape(0, {0, 1}, dtype);
    default:
      return c.broadcast_shape(0, {0, 1, 2}, dtype);
  }
}

// Arguments 0 and 1, tensors or numbers, and whatever tensors follow.
ScalarType operands_dtype(const Infer& c) {
  if (c.op.n_args == 1) return c.promoted({0});
  const ArgType t1 = c.op.args[1].type;
  const bool second = t1 == ArgType::Tensor || t1 == ArgType::Scalar;
  if (!second) return c.promoted({0});
  if (c.op.n_args > 2 && is_tensor(c, 2)) return c.promoted({0, 1, 2});
  return c.promoted({0, 1});
}

ScalarType tensors_dtype(const Infer& c) {
  const bool one = c.op.n_args > 1 && is_tensor(c, 1), two = c.op.n_args > 2 && is_tensor(c, 2);
  if (one) return two ? c.promoted({0, 1, 2}) : c.promoted({0, 1});
  return two ? c.promoted({0, 2}) : c.promoted({0});
}

// "result type Float can't be cast to the desired output type Long": an in-place form keeps its own
// dtype.
void check_inplace(const Infer& c, ScalarType result) {
  if (c.form != Form::Inplace) return;
  using A = args::pointwise;
  const ScalarType own = c.tensor(A::self).dtype;
  if (own == result) return;
  const auto rank = [](ScalarType t) { return static_cast<int>(dtype_class(t)); };
  if (rank(result) > rank(own)) {
    fail<TypeError>(c, "result type ", toString(result),
                    " can't be cast to the desired output type ", toString(own));
  }
}

void finish(Infer& c, ScalarType compute, ScalarType result) {
  check_inplace(c, result);
  c.compute = compute;
  take_tensors(c);
  shape(c, result);
}

// The number that multiplies the second operand of add and sub.
void check_factor(const Infer& c, ScalarType result) {
  using A = args::pointwise;
  if (c.op.n_args < 3 || c.op.args[A::alpha].type != ArgType::Scalar) return;
  if (c.in[A::alpha].tag == TN_TAG_I64 && every_float_holds(c.in[A::alpha])) return;
  if (std::strcmp(c.op.args[A::alpha].name, "alpha") != 0) return;
  const ScalarType t = c.scalar(A::alpha).type();
  if (isFloatingType(t) && isIntegralType(result, true)) {
    fail<TypeError>(
        c, "For integral input tensors, argument alpha must not be a floating point number.");
  }
  if (t == ScalarType::Bool && result != ScalarType::Bool) {
    fail<TypeError>(c, "Boolean alpha only supported for Boolean results.");
  }
  if (isFloatingType(result)) c.check_fits(A::alpha, result);
}

// Kernels compute with numbers of a floating dtype in float32 at least. To integers they convert
// themselves, and check.
void check_numbers(const Infer& c, int first, ScalarType t) {
  if (!isFloatingType(t) && !isComplexType(t)) return;
  for (int i = first; i < c.op.n_args; ++i) {
    if (c.op.args[i].type != ArgType::Scalar || every_float_holds(c.in[i])) continue;
    const bool single = toRealValueType(t) != ScalarType::Double;
    c.check_fits(i, single ? (isComplexType(t) ? ScalarType::ComplexFloat : ScalarType::Float) : t);
  }
}

// A bound that lets nothing of an integer dtype through is refused; one that lets everything
// through is none.
void check_bound(const Infer& c, int i, ScalarType t, bool lower) {
  if (c.none(i)) return;
  if (!isIntegralType(t, false)) return c.check_fits(i, t);
  c.check_fits(i, ScalarType::Long);
  const int64_t v = c.scalar(i).toLong(), bits = 8 * item_size(t);
  const int64_t most =
      t == ScalarType::Byte ? 255 : static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  const int64_t lowest = t == ScalarType::Byte ? 0 : -most - 1;
  if (lower ? v > most : v < lowest) {
    fail<ValueError>(c, c.arg(i), " is ", v, ", outside of the range of ", dtype_name(t));
  }
}

ScalarType as_float(ScalarType t) {
  return isFloatingType(t) || isComplexType(t) ? t : get_default_dtype();
}

}  // namespace

TENON_INFER(pointwise) {
  using A = args::pointwise;
  const ScalarType t = operands_dtype(c);
  check_factor(c, t);
  check_numbers(c, A::alpha, t);
  finish(c, t, t);
}

// The modulus of a complex number is real.
TENON_INFER(pointwise_abs) {
  using A = args::pointwise_abs;
  const ScalarType t = c.tensor(A::self).dtype;
  if (isComplexType(t) && c.form == Form::Inplace) {
    fail<TypeError>(c, "In-place ", c.op.name, " is not supported for complex tensors.");
  }
  finish(c, t, toRealValueType(t));
}

TENON_INFER(pointwise_sub) {
  for (int i = 0; i < 2; ++i) {
    const ScalarType t = is_tensor(c, i) ? c.tensor(i).dtype : c.scalar(i).type();
    if (t != ScalarType::Bool) continue;
    fail<NotImplementedError>(c, "Subtraction, the `-` operator, with a bool ",
                              is_tensor(c, i) ? "tensor" : "number",
                              " is not supported; use logical_xor() or logical_not()");
  }
  const ScalarType t = operands_dtype(c);
  check_factor(c, t);
  finish(c, t, t);
}

// Integers become the default float dtype.
TENON_INFER(pointwise_float) {
  const ScalarType t = as_float(operands_dtype(c));
  finish(c, t, t);
}

// Numbers are settings, not operands.
TENON_INFER(pointwise_same) {
  using A = args::pointwise_same;
  const ScalarType t = tensors_dtype(c);
  finish(c, t, t);
  check_numbers(c, A::end, t);
}

TENON_INFER(pointwise_softshrink) {
  using A = args::pointwise_softshrink;
  infer_pointwise_same(c);
  const double lambd = c.scalar(A::lambd).toDouble();
  if (!(lambd >= 0)) fail<ValueError>(c, "argument 'lambd' must not be negative, got ", lambd);
}

TENON_INFER(pointwise_hardtanh) {
  using A = args::pointwise_hardtanh;
  infer_pointwise_same(c);
  check_bound(c, A::min_val, c.compute, true);
  check_bound(c, A::max_val, c.compute, false);
}

TENON_INFER(pointwise_clamp_min) {
  using A = args::pointwise_clamp_min;
  infer_pointwise(c);
  check_bound(c, A::min, c.compute, true);
}

TENON_INFER(pointwise_clamp_max) {
  using A = args::pointwise_clamp_max;
  infer_pointwise(c);
  check_bound(c, A::max, c.compute, false);
}

TENON_INFER(pointwise_bool) { finish(c, operands_dtype(c), ScalarType::Bool); }

TENON_INFER(pointwise_clamp) {
  using A = args::pointwise_clamp;
  if (c.none(A::min) && c.none(A::max))
    fail<ValueError>(c, "At least one of 'min' or 'max' must not be None");
  const ScalarType t = c.promoted({A::self, A::min, A::max});
  check_inplace(c, t);
  check_bound(c, A::min, t, true);
  check_bound(c, A::max, t, false);
  c.compute = t;
  c.cast(A::self);
  c.set_like(0, c.tensor(A::self), t);
}

TENON_INFER(pointwise_pow) {
  using A = args::pointwise_pow;
  const ScalarType t = c.promoted({A::self, A::exponent});
  if (isIntegralType(t, true) && c.scalar(A::exponent).toLong() < 0) {
    fail<ValueError>(c, "Integers to negative integer powers are not allowed.");
  }
  if (t != ScalarType::Float) c.check_fits(A::exponent, t);
  finish(c, t, t);
}

// The condition chooses; only what it chooses from is promoted.
TENON_INFER(pointwise_where) {
  using A = args::pointwise_where;
  const TensorImpl& condition = c.tensor(A::condition);
  if (condition.dtype != ScalarType::Bool && condition.dtype != ScalarType::Byte) {
    fail<TypeError>(c, "expected ", c.arg(A::condition), " to be a boolean tensor, got ",
                    toString(condition.dtype));
  }
  const ScalarType t = c.promoted({A::self, A::other});
  for (int i : {1, 2}) {
    const bool short_float =
        t == ScalarType::Half || t == ScalarType::BFloat16;  // an infinity there
    if (!is_tensor(c, i) && !short_float) c.check_fits(i, t);
  }
  c.compute = t;
  take_tensors(c, A::self);
  c.expand(A::condition);
  c.broadcast_shape(0, {A::condition, A::self, A::other}, t);
}

TENON_INFER(pointwise_uniform) {
  using A = args::pointwise_uniform;
  const ScalarType a = c.tensor(A::self).dtype, b = c.tensor(A::values).dtype;
  if (a != b)
    fail<TypeError>(c, "both arguments must have one dtype, got ", toString(a), " and ",
                    toString(b));
  finish(c, a, a);
}

TENON_INFER(frexp) {
  using A = args::frexp;
  const TensorImpl& t = c.tensor(A::self);
  c.set_like(0, t, t.dtype);
  c.set_like(1, t, ScalarType::Int);
}

TENON_INFER(polygamma) {
  using A = args::polygamma;
  if (c.integer(A::n) < 0)
    fail<ValueError>(c, "polygamma(n, x) needs a non-negative n, got ", c.integer(A::n));
  const ScalarType t = as_float(c.tensor(A::self).dtype);
  c.compute = t;
  c.cast(A::self);
  c.set_like(0, c.tensor(A::self), t);
}

}  // namespace tenon::core
