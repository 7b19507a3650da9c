// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Random operators: shapes, ranges, and how many Philox words a call takes.
#include <algorithm>
#include <cmath>

#include "infer_args.gen.h"
#include "ops/infer/memory_format.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// The operator reserves one word per element; float64 takes two.
void reserve(Infer& c, const TensorImpl& t, int words) {
  c.random_count = static_cast<uint64_t>(t.numel) * words;
}

void fill_like_self(Infer& c) {
  using A = args::bernoulli_float;
  const TensorImpl& t = c.tensor(A::self);
  c.set(0, t.sizes(), t.dtype);
  if (c.form == Form::Functional) keep_format(c, 0, t);
  reserve(c, t, t.dtype == kDouble ? 2 : 1);
}

void check_probability(Infer& c, double p) {
  if (!(p >= 0 && p <= 1)) fail<ValueError>(c, "argument 'p' must be in [0, 1], got ", p);
}

// Integers that the dtype holds without rounding.
void check_holds(Infer& c, int64_t v, ScalarType t) {
  if (t == kLong) return;
  int64_t low = 0, high = 0;
  switch (t) {
    case kBool:
      high = 1;
      break;
    case kByte:
      high = 255;
      break;
    case kChar:
      low = -128;
      high = 127;
      break;
    case kShort:
      low = -32768;
      high = 32767;
      break;
    case kInt:
      low = INT32_MIN;
      high = INT32_MAX;
      break;
    case kHalf:
      low = -65504;
      high = 65504;
      break;
    default:
      return;
  }
  if (v < low || v > high) fail<ValueError>(c, "bound ", v, " does not fit ", dtype_name(t));
}

void integers(Infer& c, int64_t from, int64_t last, bool wide) {
  using A = args::random_from;
  const TensorImpl& t = c.tensor(A::self);
  if (last < from)
    fail<ValueError>(c, "the range is empty: 'from' ", from, " must not be above ", last);
  check_holds(c, from, t.dtype);
  check_holds(c, last, t.dtype);
  c.set(0, t.sizes(), t.dtype);
  reserve(c, t, wide ? 2 : 1);
}

bool above_32_bits(int64_t from, int64_t last) {
  return static_cast<uint64_t>(last) - static_cast<uint64_t>(from) >= uint64_t{1} << 32;
}

}  // namespace

TENON_INFER(random_fill) { fill_like_self(c); }

// Bounds that the dtype holds, the second not below the first, and a distance that it holds, too.
TENON_INFER(uniform_fill) {
  using A = args::uniform_fill;
  const double from = c.number(A::from), to = c.number(A::to);
  const ScalarType t = c.tensor(A::self).dtype;
  for (int i : {1, 2}) {
    if (!std::isfinite(c.number(i)))
      fail<ValueError>(c, c.arg(i), " must be finite, got ", c.number(i));
    c.check_fits(i, t);
  }
  if (from > to)
    fail<ValueError>(c, "the range is empty: 'from' ", from, " must not be above 'to' ", to);
  if (!std::isfinite(to - from) || !fits(Scalar(to - from), t)) {
    fail<ValueError>(c, "the distance of 'from' ", from, " and 'to' ", to, " is beyond ",
                     dtype_name(t));
  }
  fill_like_self(c);
}

TENON_INFER(normal_fill) {
  using A = args::normal_fill;
  if (!(c.number(A::std) >= 0))
    fail<ValueError>(c, "argument 'std' must not be negative, got ", c.number(A::std));
  fill_like_self(c);
  c.random_count = (c.random_count + 1) / 2 * 2;  // numbers come in pairs
  if (c.tensor(A::self).dtype == kDouble)
    c.random_count = (static_cast<uint64_t>(c.tensor(A::self).numel) + 1) / 2 * 4;
}

TENON_INFER(exponential_fill) {
  using A = args::exponential_fill;
  if (!(c.number(A::lambd) > 0))
    fail<ValueError>(c, "argument 'lambd' must be positive, got ", c.number(A::lambd));
  fill_like_self(c);
}

TENON_INFER(random_from) {
  using A = args::random_from;
  int64_t from = c.integer(A::from);
  if (c.none(A::to)) {
    integers(c, from, INT64_MAX, true);
    return;
  }
  if (c.integer(A::to) <= from) {
    fail<ValueError>(c, "the range is empty: 'from' ", from, " must be below 'to' ",
                     c.integer(A::to));
  }
  const int64_t last = c.integer(A::to) - 1;  // bounded: above `from`
  integers(c, from, last, above_32_bits(from, last));
}

TENON_INFER(random_to) {
  using A = args::random_to;
  if (c.integer(A::to) <= 0)
    fail<ValueError>(c, "the range is empty: 'to' must be positive, got ", c.integer(A::to));
  const int64_t last = c.integer(A::to) - 1;  // bounded: positive
  integers(c, 0, last, above_32_bits(0, last));
}

TENON_INFER(random_range) {
  using A = args::random_range;
  const TensorImpl& t = c.tensor(A::self);
  c.set(0, t.sizes(), t.dtype);
  reserve(c, t, t.dtype == kLong || t.dtype == kDouble ? 2 : 1);
}

TENON_INFER(bernoulli_tensor) {
  using A = args::bernoulli_tensor;
  if (!isFloatingType(c.tensor(A::p).dtype)) {
    fail<TypeError>(c, "argument 'p' must be floating, got ", dtype_name(c.tensor(A::p).dtype));
  }
  fill_like_self(c);
  c.expand_to(A::p, c.tensor(A::self).sizes());
}

TENON_INFER(bernoulli_float) {
  using A = args::bernoulli_float;
  check_probability(c, c.number(A::p));
  fill_like_self(c);
}

TENON_INFER(native_dropout) {
  using A = args::native_dropout;
  check_probability(c, c.number(A::p));
  fill_like_self(c);
  c.set(1, c.tensor(A::input).sizes(), kBool);
  keep_format(c, 1, c.tensor(A::input));
  c.draws = c.none(A::train) || c.flag(A::train);
}

TENON_INFER(native_dropout_backward) {
  using A = args::native_dropout_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &mask = c.tensor(A::mask);
  if (mask.dtype != kBool)
    fail<TypeError>(c, "argument 'mask' must be bool, got ", dtype_name(mask.dtype));
  if (mask.sizes() != grad.sizes()) {
    fail<ValueError>(c, "shapes ", grad.sizes(), " and ", mask.sizes(), " differ");
  }
  const bool converted = !isFloatingType(grad.dtype) && !isComplexType(grad.dtype);
  c.compute = converted ? get_default_dtype() : grad.dtype;
  c.cast(A::grad_output);
  c.set(0, grad.sizes(), c.compute);
  keep_format(c, 0, grad);
}

TENON_INFER(multinomial) {
  using A = args::multinomial;
  const TensorImpl& t = c.tensor(A::self);
  if (t.ndim() != 1 && t.ndim() != 2)
    fail<ValueError>(c, "expected a vector or a matrix of weights, got ", t.ndim(), " dimensions");
  int64_t n = c.integer(A::num_samples), weights = t.size(t.ndim() - 1),
          rows = t.ndim() == 2 ? t.size(0) : 1;
  if (n <= 0) fail<ValueError>(c, "argument 'num_samples' must be positive, got ", n);
  if (!c.flag(A::replacement) && n > weights) {
    fail<ValueError>(c, "cannot draw ", n, " of ", weights, " without replacement");
  }
  int64_t sizes[2] = {rows, n};
  c.set(0, t.ndim() == 2 ? IntArrayRef(sizes, 2) : IntArrayRef(sizes + 1, 1), kLong);
  c.random_count = static_cast<uint64_t>(rows) * (c.flag(A::replacement) ? n : weights) * 2;
}

TENON_INFER(randperm) {
  using A = args::randperm;
  if (c.integer(A::n) < 0)
    fail<ValueError>(c, "argument 'n' must not be negative, got ", c.integer(A::n));
  ScalarType dtype = c.dtype(A::dtype, kLong);
  check_holds(c, std::max<int64_t>(0, c.integer(A::n) - 1), dtype);  // bounded: not negative
  c.set_device(A::device);
  c.set_pinned(A::pin_memory);
  c.checked = dtype;
  c.set(0, c.integer(A::n), dtype);
  c.random_count = static_cast<uint64_t>(c.integer(A::n)) * 2;
}

}  // namespace tenon::core
