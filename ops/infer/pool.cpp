// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of pooling.
#include "infer_args.gen.h"
#include "ops/infer/memory_format.h"
#include "ops/infer/window.h"

namespace tenon::core {
namespace {

// An input [N, C, spatial...] or [C, spatial...]; only the batch may be empty.
void check_input(Infer& c, int at, int nd) {
  const TensorImpl& self = c.tensor(at);
  bool fits = self.ndim() == nd + 1 || self.ndim() == nd + 2;
  for (int d = self.ndim() == nd + 2 ? 1 : 0; fits && d < self.ndim(); ++d) fits = self.size(d) > 0;
  if (!fits) {
    fail<ValueError>(c, "expected ", nd + 1, "-D or ", nd + 2,
                     "-D input with sizes that are not zero, got ", self.ndim(),
                     "-D input of shape ", self.sizes());
  }
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Argument positions: `at_self` the input, behind it kernel, stride, padding, then dilation or
// none.
void window_sizes(Infer& c, int at_self, int nd, bool dilated, bool ceil_mode, int64_t* sizes) {
  const TensorImpl& self = c.tensor(at_self);
  const IntArrayRef kernel = c.ints(at_self + 1), stride = c.ints(at_self + 2),
                    pad = c.ints(at_self + 3);
  for (int d = 0; d < self.ndim(); ++d) sizes[d] = self.size(d);
  for (int d = 0; d < nd; ++d) {
    const int at = self.ndim() - nd + d;
    const int64_t k = window_entry(c, at_self + 1, d, nd),
                  s = stride.empty() ? k : window_entry(c, at_self + 2, d, nd);
    const int64_t p = window_entry(c, at_self + 3, d, nd),
                  spread = dilated ? window_entry(c, at_self + 4, d, nd) : 1;
    if (k <= 0) fail<ValueError>(c, "kernel_size must be positive, got ", kernel);
    if (s <= 0) fail<ValueError>(c, "stride must be positive, got ", stride);
    if (spread <= 0) fail<ValueError>(c, "dilation must be positive, got ", spread);
    if (p < 0) fail<ValueError>(c, "negative padding is not supported here, got ", pad);
    const int64_t reach = (k - 1) * spread + 1;
    if (p > reach / 2) {
      fail<ValueError>(c, "padding must be at most half of the kernel size, got padding ", p,
                       " and kernel size ", reach);
    }
    const int64_t room = c.take(Size(self.size(at)) + 2 * p - reach + (ceil_mode ? s - 1 : 0));
    int64_t n = floor_div(room, s) + 1;
    if (ceil_mode && c.take(Size(n - 1) * s) >= c.take(Size(self.size(at)) + p))
      --n;  // the last window starts inside of the input
    if (n < 1) {
      fail<ValueError>(c, "the output would have size ", n, " at dimension ", at, ": input ",
                       self.sizes(), ", kernel_size ", kernel);
    }
    sizes[at] = n;
  }
}

void max_pool(Infer& c, int nd, bool indices = true) {
  using A = args::max_pool2d;
  check_input(c, A::self, nd);
  int64_t sizes[kMaxDims];
  window_sizes(c, A::self, nd, true, c.flag(A::ceil_mode), sizes);
  const std::size_t n = static_cast<std::size_t>(c.tensor(A::self).ndim());
  c.set(0, {sizes, n}, c.tensor(A::self).dtype);
  keep_format(c, 0, c.tensor(A::self));
  if (!indices) return;
  c.set(1, {sizes, n}, kLong);
  keep_format(c, 1, c.tensor(A::self));
}

void check_divisor(Infer& c, int at) {
  if (!c.none(at) && c.integer(at) == 0) fail<ValueError>(c, "divisor_override must not be zero");
}

void avg_pool(Infer& c, int nd) {
  using A = args::avg_pool2d;
  check_input(c, A::self, nd);
  check_divisor(c, A::divisor_override);
  int64_t sizes[kMaxDims];
  window_sizes(c, A::self, nd, false, c.flag(A::ceil_mode), sizes);
  c.set(0, {sizes, static_cast<std::size_t>(c.tensor(A::self).ndim())}, c.tensor(A::self).dtype);
  keep_format(c, 0, c.tensor(A::self));
}

void adaptive(Infer& c, int nd, bool indices) {
  using A = args::adaptive_max_pool2d;
  check_input(c, A::self, nd);
  const TensorImpl& self = c.tensor(A::self);
  const IntArrayRef size = c.ints(A::output_size);
  if (size.size() != static_cast<std::size_t>(nd)) {
    fail<ValueError>(c, "output_size needs ", nd, " entries, got ", size);
  }
  int64_t sizes[kMaxDims];
  for (int d = 0; d < self.ndim(); ++d) sizes[d] = self.size(d);
  for (int d = 0; d < nd; ++d) {
    if (size[static_cast<std::size_t>(d)] < 0) {
      fail<ValueError>(c, "output_size must not be negative, got ", size);
    }
    sizes[self.ndim() - nd + d] = size[static_cast<std::size_t>(d)];
  }
  const std::size_t n = static_cast<std::size_t>(self.ndim());
  c.set(0, {sizes, n}, self.dtype);
  if (nd == 2) keep_format(c, 0, self);
  if (!indices) return;
  c.set(1, {sizes, n}, kLong);
  if (nd == 2) keep_format(c, 1, self);
}

// Operators with the signature (grad_output, self, ...).
void gradient_of_shape(Infer& c, const int64_t* sizes) {
  using A = args::adaptive_pool2d_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &self = c.tensor(A::self);
  const IntArrayRef expected{sizes, static_cast<std::size_t>(self.ndim())};
  if (grad.dtype != self.dtype) {
    fail<TypeError>(c, "grad_output has dtype ", dtype_name(grad.dtype), " but self has ",
                    dtype_name(self.dtype));
  }
  if (grad.sizes() != expected) {
    fail<ValueError>(c, "expected grad_output of shape ", expected, " for self ", self.sizes(),
                     ", got ", grad.sizes());
  }
  c.set(0, self.sizes(), self.dtype);
  keep_format(c, 0, self);
}

void check_indices(Infer& c, int arg) {
  using A = args::adaptive_pool2d_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &indices = c.tensor(arg);
  if (indices.sizes() != grad.sizes()) {
    fail<ValueError>(c, "indices ", indices.sizes(), " must have the shape of grad_output ",
                     grad.sizes());
  }
  if (indices.dtype != kLong)
    fail<TypeError>(c, "indices must be int64, got ", dtype_name(indices.dtype));
}

void windows_backward(Infer& c, bool dilated) {
  using A = args::avg_pool_backward;
  const int nd = c.op.args[A::kernel_size].fixed;  // the kernel's entries
  check_input(c, A::self, nd);
  int64_t sizes[kMaxDims];
  if (!dilated) check_divisor(c, A::divisor_override);
  window_sizes(c, A::self, nd, dilated, c.flag(dilated ? 6 : 5), sizes);
  gradient_of_shape(c, sizes);
}

// The gradient itself says how many cells there are.
void adaptive_backward(Infer& c, int nd) {
  using A = args::adaptive_pool2d_backward;
  check_input(c, A::self, nd);
  const TensorImpl &grad = c.tensor(A::grad_output), &self = c.tensor(A::self);
  int64_t sizes[kMaxDims];
  for (int d = 0; d < self.ndim(); ++d) {
    sizes[d] = d < self.ndim() - nd || grad.ndim() != self.ndim() ? self.size(d) : grad.size(d);
  }
  gradient_of_shape(c, sizes);
  if (c.op.n_args > 2) check_indices(c, A::indices);
}

}  // namespace

TENON_INFER(max_pool2d) { max_pool(c, 2); }
TENON_INFER(max_pool2d_values) { max_pool(c, 2, false); }
TENON_INFER(max_pool3d) { max_pool(c, 3); }
TENON_INFER(avg_pool2d) { avg_pool(c, 2); }
TENON_INFER(avg_pool3d) { avg_pool(c, 3); }
TENON_INFER(adaptive_pool2d) { adaptive(c, 2, false); }
TENON_INFER(adaptive_pool3d) { adaptive(c, 3, false); }
TENON_INFER(adaptive_max_pool2d) { adaptive(c, 2, true); }
TENON_INFER(adaptive_max_pool3d) { adaptive(c, 3, true); }

TENON_INFER(max_pool_backward) {
  using A = args::max_pool_backward;
  windows_backward(c, true);
  check_indices(c, A::indices);
}
TENON_INFER(avg_pool_backward) { windows_backward(c, false); }
TENON_INFER(adaptive_pool2d_backward) { adaptive_backward(c, 2); }
TENON_INFER(adaptive_pool3d_backward) { adaptive_backward(c, 3); }

}  // namespace tenon::core
