// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of normalisation.
#include "tenon/core/error.h"
#include "tenon/core/infer.h"

namespace tenon::core {
namespace {

void check_parameter(Infer& c, int arg, IntArrayRef sizes) {
  const TensorImpl* t = c.tensor_or_null(arg);
  if (t && t->sizes() != sizes) {
    fail<ValueError>(c, c.arg(arg), " must have shape ", text(sizes), ", got ", text(t->sizes()));
  }
  if (t && t->dtype != c.tensor(0).dtype) {
    fail<TypeError>(c, c.arg(arg), " must have the input's dtype ", dtype_name(c.tensor(0).dtype), ", got ",
                    dtype_name(t->dtype));
  }
}

int64_t check_channels(Infer& c, int first, int last) {
  const TensorImpl& input = c.tensor(0);
  const int64_t channels = input.ndim() > 1 ? input.size(1) : input.ndim() == 1 ? input.size(0) : -1;
  const bool empty = input.ndim() == 1 && input.size(0) == 0;
  if (input.ndim() < 2 && !empty) {
    fail<ValueError>(c, "expected 2-D or larger input, got ", input.ndim(), "-D input of shape ", text(input.sizes()));
  }
  const int64_t sizes[] = {channels};
  for (int i = first; i <= last; ++i) check_parameter(c, i, sizes);
  return channels;
}

// Trailing dimensions that are normalised together: how many there are.
int check_normalized(Infer& c, const TensorImpl& input, IntArrayRef shape) {
  const int n = static_cast<int>(shape.size());
  bool fits = n >= 1 && input.ndim() >= n;
  for (int d = 0; fits && d < n; ++d) fits = input.size(input.ndim() - n + d) == shape[static_cast<std::size_t>(d)];
  if (!fits) {
    fail<ValueError>(c, "normalized_shape ", text(shape), " must be the last sizes of the input, at least one, got ",
                     text(input.sizes()));
  }
  return n;
}

// One number for each group of the last n dimensions. `sizes` has room for all of them.
IntArrayRef row_statistics(const TensorImpl& input, int n, int64_t* sizes) {
  for (int d = 0; d < input.ndim(); ++d) sizes[d] = d < input.ndim() - n ? input.size(d) : 1;
  return {sizes, static_cast<std::size_t>(input.ndim())};
}

// Arguments: n, channels, elements of a plane, groups.
void check_groups(Infer& c, const TensorImpl& input, int first) {
  const int64_t n = c.integer(first), channels = c.integer(first + 1), plane = c.integer(first + 2),
                groups = c.integer(first + 3);
  if (groups <= 0 || channels % groups != 0) {
    fail<ValueError>(c, "the number of channels ", channels, " must be a multiple of the number of groups ", groups);
  }
  if (n < 0 || channels < 0 || plane < 0 || input.numel != c.take(Size(n) * channels * plane)) {
    fail<ValueError>(c, "input ", text(input.sizes()), " does not have N * C * HxW = ", n, " * ", channels, " * ",
                     plane, " elements");
  }
}

// Rows with the signature (grad_out, input, ...).
void check_gradient(Infer& c) {
  const TensorImpl &grad = c.tensor(0), &input = c.tensor(1);
  if (grad.sizes() != input.sizes()) {
    fail<ValueError>(c, "grad_out ", text(grad.sizes()), " must have the shape of the input ", text(input.sizes()));
  }
  if (grad.dtype != input.dtype) {
    fail<TypeError>(c, "grad_out has dtype ", dtype_name(grad.dtype), " but the input has ", dtype_name(input.dtype));
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
  const TensorImpl& input = c.tensor(0);
  const int64_t channels = check_channels(c, 1, 4);
  if (input.numel > 0 && input.numel == channels) {
    fail<ValueError>(c, "batch norm needs more than one value per channel in training, input ", text(input.sizes()));
  }
  const int64_t sizes[] = {channels};
  c.set(0, input.sizes(), input.dtype);
  c.set(1, sizes, input.dtype);
  c.set(2, sizes, input.dtype);
}

TENON_INFER(batch_norm_eval) {
  check_channels(c, 1, 4);
  c.set(0, c.tensor(0).sizes(), c.tensor(0).dtype);
}

TENON_INFER(batch_norm_backward) {
  const TensorImpl& input = c.tensor(1);
  check_gradient(c);
  const int64_t sizes[] = {input.ndim() > 1 ? input.size(1) : 0};
  for (int arg = 2; arg <= 6; ++arg) check_parameter(c, arg, sizes);
  const int mean = c.flag(7) ? 5 : 3;
  if (!c.tensor_or_null(mean) || !c.tensor_or_null(mean + 1)) {
    fail<ValueError>(c, c.arg(mean), " and ", c.arg(mean + 1), " are needed where train is ",
                     c.flag(7) ? "true" : "false");
  }
  constexpr int kMask = 9;
  masked(c, 0, kMask, input.sizes(), input.dtype);
  masked(c, 1, kMask, sizes, input.dtype);
  masked(c, 2, kMask, sizes, input.dtype);
}

TENON_INFER(layer_norm) {
  const TensorImpl& input = c.tensor(0);
  const int n = check_normalized(c, input, c.ints(1));
  check_parameter(c, 2, c.ints(1));
  check_parameter(c, 3, c.ints(1));
  int64_t sizes[kMaxDims];
  const IntArrayRef statistics = row_statistics(input, n, sizes);
  c.set(0, input.sizes(), input.dtype);
  c.set(1, statistics, input.dtype);
  c.set(2, statistics, input.dtype);
}

TENON_INFER(layer_norm_backward) {
  const TensorImpl& input = c.tensor(1);
  check_gradient(c);
  const int n = check_normalized(c, input, c.ints(2));
  int64_t sizes[kMaxDims];
  const IntArrayRef statistics = row_statistics(input, n, sizes);
  for (int arg : {3, 4}) check_parameter(c, arg, statistics);
  for (int arg : {5, 6}) check_parameter(c, arg, c.ints(2));
  constexpr int kMask = 7;
  masked(c, 0, kMask, input.sizes(), input.dtype);
  masked(c, 1, kMask, c.ints(2), input.dtype);
  masked(c, 2, kMask, c.ints(2), input.dtype);
}

TENON_INFER(group_norm) {
  const TensorImpl& input = c.tensor(0);
  check_groups(c, input, 3);
  const int64_t n = c.integer(3), channels = c.integer(4), groups = c.integer(6);
  const int64_t sizes[] = {channels};
  check_parameter(c, 1, sizes);
  check_parameter(c, 2, sizes);
  const int64_t statistics[] = {n, groups};
  c.set(0, input.sizes(), input.dtype);
  c.set(1, statistics, input.dtype);
  c.set(2, statistics, input.dtype);
}

TENON_INFER(group_norm_backward) {
  const TensorImpl& input = c.tensor(1);
  check_gradient(c);
  check_groups(c, input, 5);
  const int64_t sizes[] = {c.integer(6)}, statistics[] = {c.integer(5), c.integer(8)};
  for (int arg : {2, 3}) check_parameter(c, arg, statistics);
  check_parameter(c, 4, sizes);
  constexpr int kMask = 9;
  masked(c, 0, kMask, input.sizes(), input.dtype);
  masked(c, 1, kMask, sizes, input.dtype);
  masked(c, 2, kMask, sizes, input.dtype);
}

}  // namespace tenon::core
