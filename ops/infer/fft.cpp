// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of Fourier transforms.
#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// The last of `dim`, counted from the front; each must exist, have elements and be there once.
int check_dims(Infer& c, int dim_arg, int normalization) {
  using A = args::fft_c2c;
  const TensorImpl& t = c.tensor(A::self);
  uint64_t seen = 0;
  int last = -1;
  for (const int64_t given : c.ints(dim_arg)) {
    if (t.ndim() == 0)
      fail<IndexError>(c, "dimension specified as ", given, " but tensor has no dimensions");
    last = c.dim(given, t.ndim());
    if (seen >> last & 1) fail<ValueError>(c, "FFT dims must be unique, got ", c.ints(dim_arg));
    seen |= uint64_t{1} << last;
    if (t.size(last) < 1)
      fail<ValueError>(c, "Invalid number of data points (", t.size(last), ") specified");
  }
  const int64_t mode = c.integer(normalization);
  if (mode < 0 || mode > 2)
    fail<ValueError>(c, "argument 'normalization' must be 0, 1 or 2, got ", mode);
  return last;
}

void check_complex(Infer& c, ScalarType t) {
  if (!isComplexType(t))
    fail<TypeError>(c, "Only supports complex dtypes, but found: ", dtype_name(t));
}

int check_halved_dims(Infer& c, int dim_arg, int normalization) {
  const int last = check_dims(c, dim_arg, normalization);
  if (last < 0) fail<ValueError>(c, "argument 'dim' must name at least one dimension");
  return last;
}

}  // namespace

TENON_INFER(fft_c2c) {
  using A = args::fft_c2c;
  const TensorImpl& t = c.tensor(A::self);
  check_complex(c, t.dtype);
  check_dims(c, A::dim, A::normalization);
  c.set(0, t.sizes(), t.dtype);
}

TENON_INFER(fft_r2c) {
  using A = args::fft_r2c;
  const TensorImpl& t = c.tensor(A::self);
  if (t.dtype != kFloat && t.dtype != kDouble)
    fail<TypeError>(c, "Only supports floating-point dtypes, but found: ", dtype_name(t.dtype));
  const int last = check_halved_dims(c, A::dim, A::normalization);
  c.set(0, t.sizes(), toComplexType(t.dtype));
  if (c.flag(A::onesided)) c.out[0].sizes[last] = t.size(last) / 2 + 1;
}

TENON_INFER(fft_c2r) {
  using A = args::fft_c2r;
  const TensorImpl& t = c.tensor(A::self);
  check_complex(c, t.dtype);
  const int last = check_halved_dims(c, A::dim, A::normalization);
  const int64_t n = c.integer(A::last_dim_size);
  if (n < 1) fail<ValueError>(c, "Invalid number of data points (", n, ") specified");
  if (t.size(last) != n / 2 + 1 && t.size(last) != n)
    fail<ValueError>(c, "dimension ", last, " of input ", t.sizes(), " must have size ", n / 2 + 1,
                     " for ", n, " real numbers");
  c.set(0, t.sizes(), toRealValueType(t.dtype));
  c.out[0].sizes[last] = n;
}

}  // namespace tenon::core
