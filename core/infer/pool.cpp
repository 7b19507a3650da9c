// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of pooling.
#include "core/infer/window.h"

namespace tenon::core {
namespace {

// An input [N, C, spatial...] or [C, spatial...]; only the batch may be empty.
void check_input(Infer& c, int nd) {
  const TensorImpl& self = c.tensor(0);
  bool fits = self.ndim() == nd + 1 || self.ndim() == nd + 2;
  for (int d = self.ndim() == nd + 2 ? 1 : 0; fits && d < self.ndim(); ++d) fits = self.size(d) > 0;
  if (!fits) {
    fail<ValueError>(c, "expected ", nd + 1, "-D or ", nd + 2, "-D input with sizes that are not zero, got ",
                     self.ndim(), "-D input of shape ", text(self.sizes()));
  }
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Argument positions: 1 kernel, 2 stride, 3 padding, then dilation or none.
void window_sizes(Infer& c, int nd, int dilation_arg, bool ceil_mode, int64_t* sizes) {
  const TensorImpl& self = c.tensor(0);
  const IntArrayRef kernel = c.ints(1), stride = c.ints(2), pad = c.ints(3);
  for (int d = 0; d < self.ndim(); ++d) sizes[d] = self.size(d);
  for (int d = 0; d < nd; ++d) {
    const int at = self.ndim() - nd + d;
    const int64_t k = window_entry(c, 1, d, nd), s = stride.empty() ? k : window_entry(c, 2, d, nd);
    const int64_t p = window_entry(c, 3, d, nd), spread = dilation_arg >= 0 ? window_entry(c, dilation_arg, d, nd) : 1;
    if (k <= 0) fail<ValueError>(c, "kernel_size must be positive, got ", text(kernel));
    if (s <= 0) fail<ValueError>(c, "stride must be positive, got ", text(stride));
    if (spread <= 0) fail<ValueError>(c, "dilation must be positive, got ", spread);
    if (p < 0) fail<ValueError>(c, "negative padding is not supported here, got ", text(pad));
    const int64_t reach = (k - 1) * spread + 1;
    if (p > reach / 2) {
      fail<ValueError>(c, "padding must be at most half of the kernel size, got padding ", p, " and kernel size ",
                       reach);
    }
    int64_t n = floor_div(self.size(at) + 2 * p - reach + (ceil_mode ? s - 1 : 0), s) + 1;
    if (ceil_mode && (n - 1) * s >= self.size(at) + p) --n;  // the last window starts inside of the input
    if (n < 1) {
      fail<ValueError>(c, "the output would have size ", n, " at dimension ", at, ": input ", text(self.sizes()),
                       ", kernel_size ", text(kernel));
    }
    sizes[at] = n;
  }
}

void max_pool(Infer& c, int nd) {
  check_input(c, nd);
  int64_t sizes[kMaxDims];
  window_sizes(c, nd, 4, c.flag(5), sizes);
  const std::size_t n = static_cast<std::size_t>(c.tensor(0).ndim());
  c.set(0, {sizes, n}, c.tensor(0).dtype);
  c.set(1, {sizes, n}, kLong);
}

void avg_pool(Infer& c, int nd) {
  check_input(c, nd);
  if (!c.none(6) && c.integer(6) == 0) fail<ValueError>(c, "divisor_override must not be zero");
  int64_t sizes[kMaxDims];
  window_sizes(c, nd, -1, c.flag(4), sizes);
  c.set(0, {sizes, static_cast<std::size_t>(c.tensor(0).ndim())}, c.tensor(0).dtype);
}

void adaptive(Infer& c, int nd, bool indices) {
  check_input(c, nd);
  const TensorImpl& self = c.tensor(0);
  const IntArrayRef size = c.ints(1);
  if (size.size() != static_cast<std::size_t>(nd)) {
    fail<ValueError>(c, "output_size needs ", nd, " entries, got ", text(size));
  }
  int64_t sizes[kMaxDims];
  for (int d = 0; d < self.ndim(); ++d) sizes[d] = self.size(d);
  for (int d = 0; d < nd; ++d) {
    if (size[static_cast<std::size_t>(d)] < 0) {
      fail<ValueError>(c, "output_size must not be negative, got ", text(size));
    }
    sizes[self.ndim() - nd + d] = size[static_cast<std::size_t>(d)];
  }
  const std::size_t n = static_cast<std::size_t>(self.ndim());
  c.set(0, {sizes, n}, self.dtype);
  if (indices) c.set(1, {sizes, n}, kLong);
}

void check_gradient(Infer& c) {
  if (c.tensor(0).dtype != c.tensor(1).dtype) {
    fail<TypeError>(c, "grad_output has dtype ", dtype_name(c.tensor(0).dtype), " but self has ",
                    dtype_name(c.tensor(1).dtype));
  }
  if (c.tensor(0).ndim() != c.tensor(1).ndim()) {
    fail<ValueError>(c, "expected ", c.tensor(1).ndim(), "-D grad_output, got ", c.tensor(0).ndim(), "-D");
  }
}

}  // namespace

TENON_INFER(max_pool2d) { max_pool(c, 2); }
TENON_INFER(max_pool3d) { max_pool(c, 3); }
TENON_INFER(avg_pool2d) { avg_pool(c, 2); }
TENON_INFER(avg_pool3d) { avg_pool(c, 3); }
TENON_INFER(adaptive_pool2d) { adaptive(c, 2, false); }
TENON_INFER(adaptive_pool3d) { adaptive(c, 3, false); }
TENON_INFER(adaptive_max_pool2d) { adaptive(c, 2, true); }
TENON_INFER(adaptive_max_pool3d) { adaptive(c, 3, true); }

TENON_INFER(pool_backward) {
  check_gradient(c);
  c.set(0, c.tensor(1).sizes(), c.tensor(1).dtype);
}

TENON_INFER(max_pool_backward) {
  check_gradient(c);
  if (c.tensor(7).sizes() != c.tensor(0).sizes()) {
    fail<ValueError>(c, "indices ", text(c.tensor(7).sizes()), " must have the shape of grad_output ",
                     text(c.tensor(0).sizes()));
  }
  c.set(0, c.tensor(1).sizes(), c.tensor(1).dtype);
}

}  // namespace tenon::core
