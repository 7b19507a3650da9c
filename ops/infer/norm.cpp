// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of normalization.
#include "infer_args.gen.h"
#include "ops/infer/memory_format.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

void check_parameter(Infer& c, int arg, IntArrayRef sizes) {
  using A = args::batch_norm_backward;
  const TensorImpl* t = c.tensor_or_null(arg);
  if (t && t->sizes() != sizes) {
    fail<ValueError>(c, c.arg(arg), " must have shape ", sizes, ", got ", t->sizes());
  }
  if (t && t->dtype != c.tensor(A::grad_out).dtype) {
    fail<TypeError>(c, c.arg(arg), " must have the input's dtype ",
                    dtype_name(c.tensor(A::grad_out).dtype), ", got ", dtype_name(t->dtype));
  }
}

int64_t check_channels(Infer& c, int first, int last) {
  using A = args::batch_norm_eval;
  const TensorImpl& input = c.tensor(A::input);
  const int64_t channels = input.ndim() > 1    ? input.size(1)
                           : input.ndim() == 1 ? input.size(0)
                                               : -1;
  const bool empty = input.ndim() == 1 && input.size(0) == 0;
  if (input.ndim() < 2 && !empty) {
    fail<ValueError>(c, "expected 2-D or larger input, got ", input.ndim(), "-D input of shape ",
                     input.sizes());
  }
  const int64_t sizes[] = {channels};
  for (int i = first; i <= last; ++i) check_parameter(c, i, sizes);
  return channels;
}

// Trailing dimensions that are normalized together: how many there are.
int check_normalized(Infer& c, const TensorImpl& input, IntArrayRef shape) {
  const int n = static_cast<int>(shape.size());
  bool fits = n >= 1 && input.ndim() >= n;
  for (int d = 0; fits && d < n; ++d)
    fits = input.size(input.ndim() - n + d) == shape[static_cast<std::size_t>(d)];
  if (!fits) {
    fail<ValueError>(c, "normalized_shape ", shape,
                     " must be the last sizes of the input, at least one, got ", input.sizes());
  }
  return n;
}

// One number for each group of the last n dimensions. `sizes` has room for all of them.
IntArrayRef row_statistics(const TensorImpl& input, int n, int64_t* sizes) {
  for (int d = 0; d < input.ndim(); ++d) sizes[d] = d < input.ndim() - n ? input.size(d) : 1;
  return {sizes, static_cast<std::size_t>(input.ndim())};
}

// A factor that need not have the input's dtype.
void check_scale(Infer& c, int arg, IntArrayRef sizes) {
  const TensorImpl* t = c.tensor_or_null(arg);
  if (!t) return;
  if (t->sizes() != sizes) {
    fail<ValueError>(c, c.arg(arg), " must have shape ", sizes, ", got ", t->sizes());
  }
  if (!isFloatingType(t->dtype)) {
    fail<TypeError>(c, c.arg(arg), " must have a floating dtype, got ", dtype_name(t->dtype));
  }
}

// 16-bit floats are computed in float32.
ScalarType computed_in(ScalarType t) {
  return t == ScalarType::Half || t == ScalarType::BFloat16 ? ScalarType::Float : t;
}

// Arguments: n, channels, elements of a plane, groups.
void check_groups(Infer& c, const TensorImpl& input, int first) {
  const int64_t n = c.integer(first), channels = c.integer(first + 1), plane = c.integer(first + 2),
                groups = c.integer(first + 3);
  if (groups <= 0 || channels % groups != 0) {
    fail<ValueError>(c, "the number of channels ", channels,
                     " must be a multiple of the number of groups ", groups);
  }
  if (n < 0 || channels < 0 || plane < 0 || input.numel != c.take(Size(n) * channels * plane)) {
    fail<ValueError>(c, "input ", input.sizes(), " does not have N * C * HxW = ", n, " * ",
                     channels, " * ", plane, " elements");
  }
}

// Operators with the signature (grad_out, input, ...).
void check_gradient(Infer& c) {
  using A = args::batch_norm_backward;
  const TensorImpl &grad = c.tensor(A::grad_out), &input = c.tensor(A::input);
  if (grad.sizes() != input.sizes()) {
    fail<ValueError>(c, "grad_out ", grad.sizes(), " must have the shape of the input ",
                     input.sizes());
  }
  if (grad.dtype != input.dtype) {
    fail<TypeError>(c, "grad_out has dtype ", dtype_name(grad.dtype), " but the input has ",
                    dtype_name(input.dtype));
  }
}

void masked(Infer& c, int k, int mask_arg, IntArrayRef sizes, ScalarType dtype) {
  if (c.bit(mask_arg, k))
    c.set(k, sizes, dtype);
  else
    c.set_undefined(k);
}

}  // namespace

TENON_INFER(batch_norm_train) {
  using A = args::batch_norm_train;
  const TensorImpl& input = c.tensor(A::input);
  const int64_t channels = check_channels(c, A::weight, A::running_var);
  const int64_t sizes[] = {channels};
  c.set(0, input.sizes(), input.dtype);
  keep_format(c, 0, input);
  c.set(1, sizes, input.dtype);
  c.set(2, sizes, input.dtype);
}

TENON_INFER(batch_norm_eval) {
  using A = args::batch_norm_eval;
  const TensorImpl& input = c.tensor(A::input);
  check_channels(c, A::weight, A::running_var);
  c.set(0, input.sizes(), input.dtype);
  keep_format(c, 0, input);
}

TENON_INFER(batch_norm_backward) {
  using A = args::batch_norm_backward;
  const TensorImpl& input = c.tensor(A::input);
  check_gradient(c);
  const int64_t sizes[] = {input.ndim() > 1 ? input.size(1) : 0};
  for (int arg = 2; arg <= 6; ++arg) check_parameter(c, arg, sizes);
  const int mean = c.flag(A::train) ? 5 : 3;
  if (!c.tensor_or_null(mean) || !c.tensor_or_null(mean + 1)) {
    fail<ValueError>(c, c.arg(mean), " and ", c.arg(mean + 1), " are needed where train is ",
                     c.flag(A::train) ? "true" : "false");
  }
  constexpr int kMask = 9;
  masked(c, 0, kMask, input.sizes(), input.dtype);
  if (c.bit(kMask, 0)) keep_format(c, 0, input);
  masked(c, 1, kMask, sizes, input.dtype);
  masked(c, 2, kMask, sizes, input.dtype);
}

TENON_INFER(layer_norm) {
  using A = args::layer_norm;
  const TensorImpl& input = c.tensor(A::input);
  const int n = check_normalized(c, input, c.ints(A::normalized_shape));
  check_parameter(c, A::weight, c.ints(A::normalized_shape));
  check_parameter(c, A::bias, c.ints(A::normalized_shape));
  int64_t sizes[kMaxDims];
  const IntArrayRef statistics = row_statistics(input, n, sizes);
  c.set(0, input.sizes(), input.dtype);
  c.set(1, statistics, input.dtype);
  c.set(2, statistics, input.dtype);
}

TENON_INFER(layer_norm_backward) {
  using A = args::layer_norm_backward;
  const TensorImpl& input = c.tensor(A::input);
  check_gradient(c);
  const int n = check_normalized(c, input, c.ints(A::normalized_shape));
  int64_t sizes[kMaxDims];
  const IntArrayRef statistics = row_statistics(input, n, sizes);
  for (int arg : {3, 4}) check_parameter(c, arg, statistics);
  for (int arg : {5, 6}) check_parameter(c, arg, c.ints(A::normalized_shape));
  constexpr int kMask = 7;
  masked(c, 0, kMask, input.sizes(), input.dtype);
  masked(c, 1, kMask, c.ints(A::normalized_shape), input.dtype);
  masked(c, 2, kMask, c.ints(A::normalized_shape), input.dtype);
}

TENON_INFER(rms_norm) {
  using A = args::rms_norm;
  const TensorImpl& input = c.tensor(A::input);
  const IntArrayRef shape = c.ints(A::normalized_shape);
  const int n = check_normalized(c, input, shape);
  check_scale(c, A::weight, shape);
  int64_t sizes[kMaxDims];
  c.set(0, input.sizes(), input.dtype);
  c.set(1, row_statistics(input, n, sizes), computed_in(input.dtype));
}

TENON_INFER(rms_norm_backward) {
  using A = args::rms_norm_backward;
  const TensorImpl& input = c.tensor(A::input);
  check_gradient(c);
  const IntArrayRef shape = c.ints(A::normalized_shape);
  const int n = check_normalized(c, input, shape);
  int64_t sizes[kMaxDims];
  check_scale(c, A::rstd, row_statistics(input, n, sizes));
  check_scale(c, A::weight, shape);
  const TensorImpl* weight = c.tensor_or_null(A::weight);
  masked(c, 0, A::output_mask, input.sizes(), input.dtype);
  masked(c, 1, A::output_mask, shape, weight ? weight->dtype : input.dtype);
}

TENON_INFER(group_norm) {
  using A = args::group_norm;
  const TensorImpl& input = c.tensor(A::input);
  check_groups(c, input, 3);
  const int64_t n = c.integer(A::N), channels = c.integer(A::C), groups = c.integer(A::group);
  const int64_t sizes[] = {channels};
  check_parameter(c, A::weight, sizes);
  check_parameter(c, A::bias, sizes);
  const int64_t statistics[] = {n, groups};
  c.set(0, input.sizes(), input.dtype);
  keep_format(c, 0, input);
  c.set(1, statistics, input.dtype);
  c.set(2, statistics, input.dtype);
}

TENON_INFER(group_norm_backward) {
  using A = args::group_norm_backward;
  const TensorImpl& input = c.tensor(A::input);
  check_gradient(c);
  check_groups(c, input, 5);
  const int64_t sizes[] = {c.integer(A::C)}, statistics[] = {c.integer(A::N), c.integer(A::group)};
  for (int arg : {2, 3}) check_parameter(c, arg, statistics);
  check_parameter(c, A::weight, sizes);
  constexpr int kMask = 9;
  masked(c, 0, kMask, input.sizes(), input.dtype);
  if (c.bit(kMask, 0)) keep_format(c, 0, input);
  masked(c, 1, kMask, sizes, input.dtype);
  masked(c, 2, kMask, sizes, input.dtype);
}

}  // namespace tenon::core
