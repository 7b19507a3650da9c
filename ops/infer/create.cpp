// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of factories, fills and copies.
#include <cmath>

#include "infer_args.gen.h"
#include "ops/infer/memory_format.h"
#include "tenon/core/infer.h"
#include "tenon/core/layout.h"
#include "tenon/runtime/device.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// Reads dtype, layout, device, pin_memory from four arguments on; says where the result lives.
// Returns its dtype.
ScalarType read_options(Infer& c, int at, ScalarType if_none) {
  ScalarType dtype = c.dtype(at, if_none);
  // What needs no kernel is for the layout's plugin to make.
  if (!c.none(at + 1) && c.integer(at + 1) != TN_STRIDED) {
    const std::string_view layout =
        layout_name(layout_slot_from_abi(c.integer(at + 1)));  // ValueError: no such
    if (!(c.op.flags & kOpNoKernel)) {
      fail<NotImplementedError>(c, "only the strided layout can be made here, got ", layout,
                                "; convert the result: to(layout)");
    }
  }
  c.set_device(at + 2);
  c.set_pinned(at + 3);
  c.checked = dtype;
  return dtype;
}

MemoryFormat format_of(Infer& c, int i, MemoryFormat if_none) {
  const int64_t given = c.integer(i, static_cast<int64_t>(if_none));
  if (given < 0 || given > static_cast<int64_t>(MemoryFormat::ChannelsLast3d)) {
    fail<ValueError>(c, c.arg(i), ": there is no memory format ", given);
  }
  return static_cast<MemoryFormat>(given);
}

void apply_memory_format(Infer& c, int k, MemoryFormat format) {
  if (format == MemoryFormat::ChannelsLast) set_channels_last(c, k, 4);
  if (format == MemoryFormat::ChannelsLast3d) set_channels_last(c, k, 5);
}

// Of numbers between two; complex if one of them is.
ScalarType range_dtype(const Infer& c, int start, int end) {
  const ScalarType real = get_default_dtype();
  return c.scalar(start).isComplex() || c.scalar(end).isComplex() ? toComplexType(real) : real;
}

int64_t arange_length(Infer& c, Scalar start, Scalar end, Scalar step, ScalarType dtype) {
  if (step.toDouble() == 0) fail<ValueError>(c, "step must not be zero");
  double span = end.toDouble() - start.toDouble();
  if (!std::isfinite(start.toDouble()) || !std::isfinite(end.toDouble())) {
    fail<ValueError>(c, "start and end must be finite, got ", start.toDouble(), " and ",
                     end.toDouble());
  }
  if ((step.toDouble() > 0) != (span >= 0) && span != 0) {
    fail<ValueError>(c, "end ", end.toDouble(), " lies before start ", start.toDouble(),
                     " in the direction of step ", step.toDouble());
  }
  if (dtype == kLong && !step.isFloatingPoint() && !start.isFloatingPoint() &&
      !end.isFloatingPoint()) {
    __int128 wide = static_cast<__int128>(end.toLong()) - start.toLong();
    __int128 s = step.toLong();
    __int128 n = (wide + s - (s > 0 ? 1 : -1)) / s;
    if (n > INT64_MAX) fail<ValueError>(c, "the range has too many elements");
    return static_cast<int64_t>(n);
  }
  double n = std::ceil(span / step.toDouble());
  if (!(n >= 0 && n <= 0x1p62)) fail<ValueError>(c, "the range has too many elements");
  return static_cast<int64_t>(n);
}

}  // namespace

TENON_INFER(empty) {
  using A = args::empty;
  ScalarType dtype = read_options(c, A::dtype, get_default_dtype());
  c.set(0, c.ints(A::size), dtype);
  apply_memory_format(c, 0, format_of(c, 5, MemoryFormat::Contiguous));
}

TENON_INFER(empty_strided) {
  using A = args::empty_strided;
  ScalarType dtype = read_options(c, A::dtype, get_default_dtype());
  IntArrayRef size = c.ints(A::size), stride = c.ints(A::stride);
  if (size.size() != stride.size()) {
    fail<ValueError>(c, "size ", size, " and stride ", stride, " differ in length");
  }
  c.set(0, size, dtype);
  for (std::size_t d = 0; d < stride.size(); ++d) {
    if (stride[d] < 0) fail<ValueError>(c, "negative entry in stride ", stride);
    c.out[0].strides[d] = stride[d];
  }
  c.out[0].has_strides = true;
}

TENON_INFER(empty_like) {
  using A = args::empty_like;
  const TensorImpl& t = c.tensor(A::self);
  ScalarType dtype = read_options(c, A::dtype, t.dtype);
  const MemoryFormat format = format_of(c, A::memory_format, MemoryFormat::Preserve);
  if (format == MemoryFormat::Preserve)
    c.set_like(0, t, dtype);
  else
    c.set(0, t.sizes(), dtype);
  apply_memory_format(c, 0, format);
}

TENON_INFER(arange) {
  using A = args::arange;
  Scalar start = c.scalar(A::start), end = c.scalar(A::end), step = c.scalar(A::step);
  bool real = start.isFloatingPoint() || end.isFloatingPoint() || step.isFloatingPoint();
  ScalarType dtype = read_options(c, A::dtype, real ? get_default_dtype() : kLong);
  const ScalarType counted = isIntegralType(dtype, true)            ? kLong
                             : dtype == kHalf || dtype == kBFloat16 ? kFloat
                                                                    : kDouble;
  for (int i = 0; i < 3; ++i) c.check_fits(i, counted);
  c.set(0, arange_length(c, start, end, step, dtype), dtype);
}

TENON_INFER(linspace) {
  using A = args::linspace;
  ScalarType dtype = read_options(c, A::dtype, range_dtype(c, A::start, A::end));
  if (c.integer(A::steps) < 0)
    fail<ValueError>(c, "steps is ", c.integer(A::steps), " but must not be negative");
  c.check_fits(A::start, dtype);
  c.check_fits(A::end, dtype);
  c.set(0, c.integer(A::steps), dtype);
}

TENON_INFER(logspace) {
  using A = args::logspace;
  ScalarType dtype = read_options(c, A::dtype, range_dtype(c, A::start, A::end));
  if (c.integer(A::steps) < 0)
    fail<ValueError>(c, "steps is ", c.integer(A::steps), " but must not be negative");
  c.set(0, c.integer(A::steps), dtype);
}

TENON_INFER(eye) {
  using A = args::eye;
  ScalarType dtype = read_options(c, A::dtype, get_default_dtype());
  if (c.integer(A::n) < 0 || c.integer(A::m) < 0) {
    fail<ValueError>(c, "sizes ", c.integer(A::n), " and ", c.integer(A::m),
                     " must not be negative");
  }
  int64_t sizes[2] = {c.integer(A::n), c.integer(A::m)};
  c.set(0, sizes, dtype);
}

// One input, one output of the same shape and dtype.
TENON_INFER(like_self) {
  using A = args::like_self;
  c.set_like(0, c.tensor(A::self), c.tensor(A::self).dtype);
}

TENON_INFER(tril) {
  using A = args::tril;
  const TensorImpl& t = c.tensor(A::self);
  if (t.ndim() < 2) fail<ValueError>(c, "expected at least 2 dimensions, got ", t.ndim());
  c.set(0, t.sizes(), t.dtype);
}
TENON_INFER(triu) { infer_tril(c); }

TENON_INFER(copy) {
  using A = args::copy;
  const TensorImpl& self = c.tensor(A::self);
  c.device = self.device_id;
  c.set_like(0, self, self.dtype);
  c.expand_to(A::src, self.sizes());
}

TENON_INFER(clone) {
  using A = args::clone;
  const TensorImpl& t = c.tensor(A::self);
  const MemoryFormat format = format_of(c, A::memory_format, MemoryFormat::Preserve);
  if (format == MemoryFormat::Preserve)
    c.set_like(0, t, t.dtype);
  else
    c.set(0, t.sizes(), t.dtype);
  apply_memory_format(c, 0, format);
}

TENON_INFER(fill) {
  using A = args::fill;
  c.check_fits(A::value, c.tensor(A::self).dtype);
  c.set_like(0, c.tensor(A::self), c.tensor(A::self).dtype);
}

TENON_INFER(fill_tensor) {
  using A = args::fill_tensor;
  if (c.tensor(A::value).ndim() != 0) {
    fail<ValueError>(c, "argument 'value' must have 0 dimensions, got ", c.tensor(A::value).ndim());
  }
  c.set_like(0, c.tensor(A::self), c.tensor(A::self).dtype);
}

TENON_INFER(flip) {
  using A = args::flip;
  const TensorImpl& t = c.tensor(A::self);
  uint64_t seen = 0;
  for (int64_t given : c.ints(A::dims)) {
    int d = c.dim(given, t.ndim());
    if (seen >> d & 1) fail<ValueError>(c, "dimension ", d, " appears twice in ", c.ints(A::dims));
    seen |= uint64_t{1} << d;
  }
  c.set(0, t.sizes(), t.dtype);
  keep_format(c, 0, t);
}

TENON_INFER(constant_pad_nd) {
  using A = args::constant_pad_nd;
  const TensorImpl& t = c.tensor(A::self);
  IntArrayRef pad = c.ints(A::pad);
  c.check_fits(A::value, t.dtype);
  int n = static_cast<int>(pad.size()) / 2;
  if (pad.size() % 2 || n > t.ndim()) {
    fail<ValueError>(c, "argument 'pad' ", pad, " must have an even length of at most ",
                     2 * t.ndim());
  }
  int64_t sizes[kMaxDims];
  for (int d = 0; d < t.ndim(); ++d) {
    int k = t.ndim() - 1 - d;  // pairs run from the last dimension inwards
    sizes[d] = k < n ? c.take(Size(t.size(d)) + pad[2 * k] + pad[2 * k + 1]) : t.size(d);
    if (sizes[d] < 0) {
      fail<ValueError>(c, "pad ", pad, " makes dimension ", d, " of size ", t.size(d), " negative");
    }
  }
  c.set(0, {sizes, static_cast<std::size_t>(t.ndim())}, t.dtype);
  keep_format(c, 0, t);
}

}  // namespace tenon::core
