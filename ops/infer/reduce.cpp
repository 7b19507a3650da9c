// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of reductions and cumulative operators.
#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// The dimensions to reduce, a bit each; none given, or an empty list, means all.
uint64_t mask_of(const Infer& c, IntArrayRef dims, bool given, int ndim) {
  const uint64_t all = ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  if (!given || dims.empty()) return all;
  uint64_t mask = 0;
  for (int64_t d : dims) {
    const uint64_t bit = uint64_t{1} << c.dim(d, ndim);
    if (mask & bit)
      fail<ValueError>(c, "dim ", c.dim(d, ndim), " appears multiple times in the list of dims");
    mask |= bit;
  }
  return mask;
}

uint64_t mask_of(const Infer& c, int arg) {
  using A = args::extremum;
  const bool given = !c.none(arg);
  return mask_of(c, given ? c.ints(arg) : IntArrayRef(), given, c.tensor(A::self).ndim());
}

void set_reduced(Infer& c, int k, uint64_t mask, bool keepdim, ScalarType dtype) {
  using A = args::argmax;
  const TensorImpl& t = c.tensor(A::self);
  int64_t sizes[kMaxDims];
  int n = 0;
  for (int d = 0; d < t.ndim(); ++d) {
    const bool gone = mask >> d & 1;
    if (!gone)
      sizes[n++] = t.size(d);
    else if (keepdim)
      sizes[n++] = 1;
  }
  c.set(k, IntArrayRef(sizes, static_cast<std::size_t>(n)), dtype);
}

// The dtype asked for, else int64 for integers, else the input's own. A dtype asked for is that of
// the computation.
ScalarType sum_dtype(Infer& c, int arg) {
  using A = args::cumsum;
  const ScalarType own = c.tensor(A::self).dtype, wanted = c.dtype(arg, own);
  if (c.none(arg)) return isIntegralType(own, true) ? ScalarType::Long : own;
  if (wanted != own) {
    c.compute = wanted;
    c.cast(A::self);
  }
  return wanted;
}

void need_elements(const Infer& c, uint64_t mask) {
  using A = args::argmax;
  const TensorImpl& t = c.tensor(A::self);
  for (int d = 0; d < t.ndim(); ++d) {
    if ((mask >> d & 1) && t.size(d) == 0) {
      fail<IndexError>(c, "Expected reduction dim ", d, " to have non-zero size.");
    }
  }
}

void need_any(const Infer& c) {
  using A = args::argmax;
  if (c.tensor(A::self).numel == 0) {
    fail<IndexError>(c,
                     "Expected reduction dim to be specified for input.numel() == 0. Specify the "
                     "reduction dim with "
                     "the 'dim' argument.");
  }
}

uint64_t one_dim(const Infer& c, int arg) {
  using A = args::argmax;
  const int ndim = c.tensor(A::self).ndim(), d = c.dim(c.integer(arg), ndim);
  return ndim == 0 ? 0 : uint64_t{1} << d;
}

ScalarType logic_dtype(const Infer& c) {
  using A = args::logic;
  return c.tensor(A::self).dtype == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool;
}

}  // namespace

TENON_INFER(sum) {
  using A = args::sum;
  set_reduced(c, 0, mask_of(c, 1), c.flag(A::keepdim), sum_dtype(c, A::dtype));
}
TENON_INFER(prod) {
  using A = args::prod;
  set_reduced(c, 0, ~uint64_t{0}, false, sum_dtype(c, A::dtype));
}
TENON_INFER(prod_dim) {
  using A = args::prod_dim;
  set_reduced(c, 0, one_dim(c, 1), c.flag(A::keepdim), sum_dtype(c, A::dtype));
}

TENON_INFER(mean) {
  using A = args::mean;
  const ScalarType t = sum_dtype(c, A::dtype);
  c.checked = c.none(A::dtype) ? c.tensor(A::self).dtype : t;
  set_reduced(c, 0, mask_of(c, 1), c.flag(A::keepdim), t);
}

TENON_INFER(extremum) {
  using A = args::extremum;
  const uint64_t mask = mask_of(c, A::dim);
  need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(A::keepdim), c.tensor(A::self).dtype);
}
TENON_INFER(extremum_all) {
  using A = args::extremum_all;
  need_any(c);
  set_reduced(c, 0, ~uint64_t{0}, false, c.tensor(A::self).dtype);
}
TENON_INFER(extremum_dim) {
  using A = args::extremum_dim;
  const uint64_t mask = one_dim(c, A::dim);
  need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(A::keepdim), c.tensor(A::self).dtype);
  set_reduced(c, 1, mask, c.flag(A::keepdim), ScalarType::Long);
}
TENON_INFER(argmax) {
  using A = args::argmax;
  if (c.none(A::dim)) need_any(c);
  const uint64_t mask = c.none(A::dim) ? ~uint64_t{0} : one_dim(c, A::dim);
  if (!c.none(A::dim)) need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(A::keepdim), ScalarType::Long);
}

TENON_INFER(logic) { set_reduced(c, 0, ~uint64_t{0}, false, logic_dtype(c)); }
TENON_INFER(logic_dim) {
  using A = args::logic_dim;
  set_reduced(c, 0, one_dim(c, 1), c.flag(A::keepdim), logic_dtype(c));
}
TENON_INFER(logic_dims) {
  using A = args::logic_dims;
  // Here an empty list reduces nothing.
  const bool nothing = !c.none(A::dim) && c.ints(A::dim).empty();
  set_reduced(c, 0, nothing ? 0 : mask_of(c, A::dim), c.flag(A::keepdim), logic_dtype(c));
}

TENON_INFER(var) {
  using A = args::var;
  set_reduced(c, 0, mask_of(c, 1), c.flag(A::keepdim), toRealValueType(c.tensor(A::self).dtype));
}
TENON_INFER(var_mean) {
  using A = args::var_mean;
  const uint64_t mask = mask_of(c, A::dim);
  set_reduced(c, 0, mask, c.flag(A::keepdim), toRealValueType(c.tensor(A::self).dtype));
  set_reduced(c, 1, mask, c.flag(A::keepdim), c.tensor(A::self).dtype);
}
TENON_INFER(norm) {
  using A = args::norm;
  const uint64_t mask = mask_of(c, A::dim);
  if (!c.none(A::p) && c.scalar(A::p).toDouble() < 0) need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(A::keepdim), toRealValueType(c.tensor(A::self).dtype));
}

TENON_INFER(cumsum) {
  using A = args::cumsum;
  const TensorImpl& t = c.tensor(A::self);
  c.dim(c.integer(A::dim), t.ndim());
  c.set(0, t.sizes(), sum_dtype(c, A::dtype));
  // The kernel reads and writes one dtype.
  if (c.out[0].dtype != t.dtype) {
    c.compute = c.out[0].dtype;
    c.cast(A::self);
  }
}
TENON_INFER(cumulative) {
  using A = args::cumulative;
  const TensorImpl& t = c.tensor(A::self);
  c.dim(c.integer(A::dim), t.ndim());
  c.set(0, t.sizes(), t.dtype);
}
TENON_INFER(cummax) {
  using A = args::cummax;
  const TensorImpl& t = c.tensor(A::self);
  c.dim(c.integer(A::dim), t.ndim());
  c.set(0, t.sizes(), t.dtype);
  c.set(1, t.sizes(), ScalarType::Long);
}

}  // namespace tenon::core
