// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes and dtypes of reductions and cumulative rows.
#include "tenon/core/error.h"
#include "tenon/core/infer.h"

namespace tenon::core {
namespace {

// The dimensions to reduce, a bit each; none given, or an empty list, means all.
uint64_t mask_of(const Infer& c, IntArrayRef dims, bool given, int ndim) {
  const uint64_t all = ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  if (!given || dims.empty()) return all;
  uint64_t mask = 0;
  for (int64_t d : dims) {
    const uint64_t bit = uint64_t{1} << c.dim(d, ndim);
    if (mask & bit) fail<ValueError>(c, "dim ", c.dim(d, ndim), " appears multiple times in the list of dims");
    mask |= bit;
  }
  return mask;
}

uint64_t mask_of(const Infer& c, int arg) {
  const bool given = !c.none(arg);
  return mask_of(c, given ? c.ints(arg) : IntArrayRef(), given, c.tensor(0).ndim());
}

void set_reduced(Infer& c, int k, uint64_t mask, bool keepdim, ScalarType dtype) {
  const TensorImpl& t = c.tensor(0);
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

// The dtype asked for, else int64 for integers, else the input's own. A dtype asked for is that of the computation.
ScalarType sum_dtype(Infer& c, int arg) {
  const ScalarType own = c.tensor(0).dtype, wanted = c.dtype(arg, own);
  if (c.none(arg)) return isIntegralType(own, true) ? ScalarType::Long : own;
  if (wanted != own) {
    c.compute = wanted;
    c.cast(0);
  }
  return wanted;
}

void need_elements(const Infer& c, uint64_t mask) {
  const TensorImpl& t = c.tensor(0);
  for (int d = 0; d < t.ndim(); ++d) {
    if ((mask >> d & 1) && t.size(d) == 0) {
      fail<IndexError>(c, "Expected reduction dim ", d, " to have non-zero size.");
    }
  }
}

void need_any(const Infer& c) {
  if (c.tensor(0).numel == 0) {
    fail<IndexError>(c,
                     "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                     "the 'dim' argument.");
  }
}

uint64_t one_dim(const Infer& c, int arg) {
  const int ndim = c.tensor(0).ndim(), d = c.dim(c.integer(arg), ndim);
  return ndim == 0 ? 0 : uint64_t{1} << d;
}

ScalarType logic_dtype(const Infer& c) {
  return c.tensor(0).dtype == ScalarType::Byte ? ScalarType::Byte : ScalarType::Bool;
}

}  // namespace

TENON_INFER(sum) { set_reduced(c, 0, mask_of(c, 1), c.flag(2), sum_dtype(c, 3)); }
TENON_INFER(prod) { set_reduced(c, 0, ~uint64_t{0}, false, sum_dtype(c, 1)); }
TENON_INFER(prod_dim) { set_reduced(c, 0, one_dim(c, 1), c.flag(2), sum_dtype(c, 3)); }

TENON_INFER(mean) {
  const ScalarType t = sum_dtype(c, 3);
  c.checked = c.none(3) ? c.tensor(0).dtype : t;
  set_reduced(c, 0, mask_of(c, 1), c.flag(2), t);
}

TENON_INFER(extremum) {
  const uint64_t mask = mask_of(c, 1);
  need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(2), c.tensor(0).dtype);
}
TENON_INFER(extremum_all) {
  need_any(c);
  set_reduced(c, 0, ~uint64_t{0}, false, c.tensor(0).dtype);
}
TENON_INFER(extremum_dim) {
  const uint64_t mask = one_dim(c, 1);
  need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(2), c.tensor(0).dtype);
  set_reduced(c, 1, mask, c.flag(2), ScalarType::Long);
}
TENON_INFER(argmax) {
  if (c.none(1)) need_any(c);
  const uint64_t mask = c.none(1) ? ~uint64_t{0} : one_dim(c, 1);
  if (!c.none(1)) need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(2), ScalarType::Long);
}

TENON_INFER(logic) { set_reduced(c, 0, ~uint64_t{0}, false, logic_dtype(c)); }
TENON_INFER(logic_dim) { set_reduced(c, 0, one_dim(c, 1), c.flag(2), logic_dtype(c)); }
TENON_INFER(logic_dims) {
  // Here an empty list reduces nothing.
  const bool nothing = !c.none(1) && c.ints(1).empty();
  set_reduced(c, 0, nothing ? 0 : mask_of(c, 1), c.flag(2), logic_dtype(c));
}

TENON_INFER(var) { set_reduced(c, 0, mask_of(c, 1), c.flag(3), c.tensor(0).dtype); }
TENON_INFER(var_mean) {
  const uint64_t mask = mask_of(c, 1);
  set_reduced(c, 0, mask, c.flag(3), c.tensor(0).dtype);
  set_reduced(c, 1, mask, c.flag(3), c.tensor(0).dtype);
}
TENON_INFER(norm) {
  const uint64_t mask = mask_of(c, 2);
  if (!c.none(1) && c.scalar(1).toDouble() < 0) need_elements(c, mask);
  set_reduced(c, 0, mask, c.flag(3), c.tensor(0).dtype);
}

TENON_INFER(cumsum) {
  const TensorImpl& t = c.tensor(0);
  c.dim(c.integer(1), t.ndim());
  c.set(0, t.sizes(), sum_dtype(c, 2));
  // The kernel reads and writes one dtype.
  if (c.out[0].dtype != t.dtype) {
    c.compute = c.out[0].dtype;
    c.cast(0);
  }
}
TENON_INFER(cumulative) {
  const TensorImpl& t = c.tensor(0);
  c.dim(c.integer(1), t.ndim());
  c.set(0, t.sizes(), t.dtype);
}
TENON_INFER(cummax) {
  const TensorImpl& t = c.tensor(0);
  c.dim(c.integer(1), t.ndim());
  c.set(0, t.sizes(), t.dtype);
  c.set(1, t.sizes(), ScalarType::Long);
}

}  // namespace tenon::core
