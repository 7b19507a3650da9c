// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of resampling, of borders made of the elements themselves, and of samples at positions of
// a grid.
#include "infer_args.gen.h"
#include "ops/infer/memory_format.h"
#include "ops/infer/window.h"

namespace tenon::core {
namespace {

void need_sizes(Infer& c, IntArrayRef sizes, std::size_t nd) {
  using A = args::upsample;
  bool positive = sizes.size() == nd;
  for (int64_t s : sizes) positive = positive && s > 0;
  if (!positive)
    fail<ValueError>(c, c.arg(A::output_size), " must be ", nd, " positive sizes, got ", sizes);
}

// An input [C, spatial...] or [N, C, spatial...], of which only the batch may be empty.
void need_planes(Infer& c, const TensorImpl& t, int nd) {
  bool fits = t.ndim() == nd + 1 || t.ndim() == nd + 2;
  for (int d = t.ndim() == nd + 2 ? 1 : 0; fits && d < t.ndim(); ++d) fits = t.size(d) > 0;
  if (!fits) {
    fail<ValueError>(c, "expected ", nd + 1, "-D or ", nd + 2,
                     "-D input with sizes that are not zero, got ", t.ndim(), "-D input of shape ",
                     t.sizes());
  }
}

// The shape of `self` with borders of argument `at`, in `sizes`. A reflected border is shorter than
// its dimension.
void padded_sizes(Infer& c, const TensorImpl& self, int at, bool reflect,
                  int64_t (&sizes)[kMaxDims]) {
  const IntArrayRef pad = c.ints(at);
  const int nd = c.fixed(at) / 2;
  need_planes(c, self, nd);
  for (int d = 0; d < self.ndim(); ++d) sizes[d] = self.size(d);
  for (int k = 0; k < nd; ++k) {
    const int d = self.ndim() - 1 - k;
    const int64_t before = small_entry(c, at, static_cast<std::size_t>(2 * k)),
                  after = small_entry(c, at, static_cast<std::size_t>(2 * k + 1));
    if (reflect && (before >= sizes[d] || after >= sizes[d])) {
      fail<ValueError>(
          c,
          "Padding size should be less than the corresponding input dimension, but got: padding (",
          before, ", ", after, ") at dimension ", d, " of input ", self.sizes());
    }
    sizes[d] = c.take(Size(sizes[d]) + before + after);
    if (sizes[d] < 1) {
      fail<ValueError>(c, "input ", self.sizes(), " is too small for padding ", pad, ": dimension ",
                       d, " would have size ", sizes[d]);
    }
  }
}

void pad_ends(Infer& c, bool reflect) {
  using A = args::reflection_pad;
  const TensorImpl& self = c.tensor(A::self);
  int64_t sizes[kMaxDims];
  padded_sizes(c, self, 1, reflect, sizes);
  c.set(0, {sizes, static_cast<std::size_t>(self.ndim())}, self.dtype);
  keep_format(c, 0, self);
}

void pad_ends_backward(Infer& c, bool reflect) {
  using A = args::reflection_pad_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &self = c.tensor(A::self);
  if (grad.dtype != self.dtype) {
    fail<TypeError>(c, "grad_output has dtype ", dtype_name(grad.dtype), " but self has ",
                    dtype_name(self.dtype));
  }
  int64_t sizes[kMaxDims];
  padded_sizes(c, self, 2, reflect, sizes);
  if (!grad.sizes().equals({sizes, static_cast<std::size_t>(self.ndim())})) {
    fail<ValueError>(c, "grad_output ", grad.sizes(), " does not fit self ", self.sizes(),
                     " and padding ", c.ints(A::padding));
  }
  c.set(0, self.sizes(), self.dtype);
}

// Codes of interpolation and border, arguments `at` and the next.
void check_sampling(Infer& c, int at) {
  const int64_t mode = c.integer(at), border = c.integer(at + 1);
  if (mode < 0 || mode > 2) fail<ValueError>(c, "interpolation_mode must be 0, 1 or 2, got ", mode);
  if (border < 0 || border > 2) fail<ValueError>(c, "padding_mode must be 0, 1 or 2, got ", border);
}

void sample(Infer& c, int nd) {
  using A = args::grid_sampler_2d;
  const TensorImpl &input = c.tensor(A::input), &grid = c.tensor(A::grid);
  if (input.dtype != grid.dtype) {
    fail<TypeError>(c, "expected input and grid to have same dtype, but input has ",
                    dtype_name(input.dtype), " and grid has ", dtype_name(grid.dtype));
  }
  if (input.ndim() != nd + 2 || grid.ndim() != nd + 2) {
    fail<ValueError>(c, "expected ", nd + 2,
                     "D input and grid with same number of dimensions, but got input with sizes ",
                     input.sizes(), " and grid with sizes ", grid.sizes());
  }
  if (input.size(0) != grid.size(0)) {
    fail<ValueError>(c,
                     "expected grid and input to have same batch size, but got input with sizes ",
                     input.sizes(), " and grid with sizes ", grid.sizes());
  }
  if (grid.size(nd + 1) != nd) {
    fail<ValueError>(c, "expected grid to have size ", nd,
                     " in last dimension, but got grid with sizes ", grid.sizes());
  }
  for (int d = 2; d < input.ndim(); ++d) {
    if (input.size(d) > 0) continue;
    fail<ValueError>(c, "expected input to have non-empty spatial dimensions, but input has sizes ",
                     input.sizes(), " with dimension ", d, " being empty");
  }
  check_sampling(c, A::interpolation_mode);
  int64_t sizes[kMaxDims] = {input.size(0), input.size(1)};
  for (int d = 0; d < nd; ++d) sizes[d + 2] = grid.size(d + 1);
  c.set(0, {sizes, static_cast<std::size_t>(nd + 2)}, input.dtype);
}

}  // namespace

TENON_INFER(upsample) {
  using A = args::upsample;
  const TensorImpl& self = c.tensor(A::self);
  const IntArrayRef size = c.ints(A::output_size);
  const int nd = c.fixed(A::output_size);
  if (self.ndim() != nd + 2)
    fail<ValueError>(c, "needs ", nd + 2, "-D input, got ", self.ndim(), "-D");
  need_sizes(c, size, static_cast<std::size_t>(nd));
  need_planes(c, self, nd);
  int64_t sizes[kMaxDims] = {self.size(0), self.size(1)};
  for (int d = 0; d < nd; ++d) sizes[d + 2] = size[static_cast<std::size_t>(d)];
  c.set(0, {sizes, static_cast<std::size_t>(nd + 2)}, self.dtype);
  keep_format(c, 0, self);
}

TENON_INFER(upsample_backward) {
  using A = args::upsample_backward;
  const TensorImpl& grad = c.tensor(A::grad_output);
  const IntArrayRef size = c.ints(A::output_size), input = c.ints(A::input_size);
  need_sizes(c, size, static_cast<std::size_t>(c.fixed(A::output_size)));
  bool fits = grad.ndim() == static_cast<int>(input.size());
  for (int d = 0; fits && d < grad.ndim(); ++d) {
    const std::size_t i = static_cast<std::size_t>(d);
    fits = grad.size(d) == (d < 2 ? input[i] : size[i - 2]) && (d == 0 || input[i] > 0);
  }
  if (!fits) {
    fail<ValueError>(c, "grad_output ", grad.sizes(), " does not fit output_size ", size,
                     " and input_size ", input);
  }
  c.set(0, input, grad.dtype);
}

TENON_INFER(reflection_pad) { pad_ends(c, true); }
TENON_INFER(replication_pad) { pad_ends(c, false); }
TENON_INFER(reflection_pad_backward) { pad_ends_backward(c, true); }
TENON_INFER(replication_pad_backward) { pad_ends_backward(c, false); }

TENON_INFER(grid_sampler_2d) { sample(c, 2); }
TENON_INFER(grid_sampler_3d) { sample(c, 3); }

namespace {

void sample_backward(Infer& c, int nd) {
  using A = args::grid_sampler_2d_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &input = c.tensor(A::input),
                   &grid = c.tensor(A::grid);
  check_sampling(c, A::interpolation_mode);
  bool fits = input.ndim() == nd + 2 && grad.ndim() == nd + 2 && grid.ndim() == nd + 2 &&
              grid.size(nd + 1) == nd && input.size(0) == grid.size(0) &&
              grad.size(0) == input.size(0) && grad.size(1) == input.size(1);
  for (int d = 0; fits && d < nd; ++d) fits = grad.size(d + 2) == grid.size(d + 1);
  if (!fits) {
    fail<ValueError>(c, "grad_output ", grad.sizes(), " does not fit input ", input.sizes(),
                     " and grid ", grid.sizes());
  }
  if (grad.dtype != input.dtype || grid.dtype != input.dtype) {
    fail<TypeError>(c, "grad_output, input and grid must have one dtype, got ",
                    dtype_name(grad.dtype), ", ", dtype_name(input.dtype), " and ",
                    dtype_name(grid.dtype));
  }
  c.set(0, input.sizes(), input.dtype);
  c.set(1, grid.sizes(), grid.dtype);
  if (!c.bit(A::output_mask, 0)) c.set_undefined(0);
  if (!c.bit(A::output_mask, 1)) c.set_undefined(1);
}

}  // namespace

TENON_INFER(grid_sampler_2d_backward) { sample_backward(c, 2); }
TENON_INFER(grid_sampler_3d_backward) { sample_backward(c, 3); }

}  // namespace tenon::core
