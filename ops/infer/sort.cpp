// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of sorting, selecting and searching.
#include <algorithm>
#include <cmath>

#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// An element of each slice along `dim`, and where it was.
void one_of_each_slice(Infer& c, int dim, bool keepdim) {
  using A = args::kthvalue;
  const TensorImpl& t = c.tensor(A::self);
  int64_t sizes[kMaxDims];
  int n = 0;
  for (int d = 0; d < t.ndim(); ++d) {
    if (d != dim)
      sizes[n++] = t.size(d);
    else if (keepdim)
      sizes[n++] = 1;
  }
  IntArrayRef shape(sizes, static_cast<std::size_t>(n));
  c.set(0, shape, t.dtype);
  c.set(1, shape, kLong);
}

}  // namespace

TENON_INFER(sort) {
  using A = args::sort;
  const TensorImpl& t = c.tensor(A::self);
  c.dim(c.integer(A::dim), t.ndim());
  c.set(0, t.sizes(), t.dtype);
  c.set(1, t.sizes(), kLong);
}

TENON_INFER(topk) {
  using A = args::topk;
  const TensorImpl& t = c.tensor(A::self);
  int dim = c.dim(c.integer(A::dim), t.ndim());
  int64_t k = c.integer(A::k), size = t.ndim() ? t.size(dim) : 1;
  if (k < 0 || k > size)
    fail<ValueError>(c, "k is ", k, " but dimension ", dim, " has size ", size);
  int64_t sizes[kMaxDims];
  std::copy(t.sizes().begin(), t.sizes().end(), sizes);
  if (t.ndim()) sizes[dim] = k;
  IntArrayRef shape(sizes, static_cast<std::size_t>(t.ndim()));
  c.set(0, shape, t.dtype);
  c.set(1, shape, kLong);
}

TENON_INFER(kthvalue) {
  using A = args::kthvalue;
  const TensorImpl& t = c.tensor(A::self);
  int dim = c.dim(c.integer(A::dim), t.ndim());
  int64_t k = c.integer(A::k), size = t.ndim() ? t.size(dim) : 1;
  if (k < 1 || k > size)
    fail<ValueError>(c, "k is ", k, " but must be in [1, ", size, "] for dimension ", dim);
  one_of_each_slice(c, dim, c.flag(A::keepdim));
}

TENON_INFER(mode) {
  using A = args::mode;
  const TensorImpl& t = c.tensor(A::self);
  int dim = c.dim(c.integer(A::dim), t.ndim());
  if (t.ndim() && t.size(dim) == 0) {
    fail<IndexError>(c, "Expected reduction dim ", dim, " to have non-zero size.");
  }
  one_of_each_slice(c, dim, c.flag(A::keepdim));
}

TENON_INFER(histogram) {
  using A = args::histogram;
  const TensorImpl &t = c.tensor(A::self), &edges = c.tensor(A::edges),
                   *weight = c.tensor_or_null(A::weight);
  if (edges.ndim() != 1 || edges.numel == 0) {
    fail<ValueError>(c, "bins must be a vector with at least one element, got ", edges.sizes());
  }
  if (weight && weight->sizes() != t.sizes()) {
    fail<ValueError>(c, "weight ", weight->sizes(), " must have the shape of the input ",
                     t.sizes());
  }
  if (edges.dtype != t.dtype || (weight && weight->dtype != t.dtype)) {
    fail<TypeError>(c, "input, bins and weight must have the same dtype, but got input ",
                    dtype_name(t.dtype), " and bins ", dtype_name(edges.dtype));
  }
  const int64_t bins = edges.numel - 1;
  c.set(0, IntArrayRef(bins), kDouble);
}

TENON_INFER(histc) {
  using A = args::histc;
  const TensorImpl& t = c.tensor(A::self);
  if (c.integer(A::bins) <= 0) fail<ValueError>(c, "bins must be > 0, got ", c.integer(A::bins));
  const double low = c.scalar(A::min).toDouble(), high = c.scalar(A::max).toDouble();
  if (!(low <= high)) fail<ValueError>(c, "max must be larger than min, got ", low, " and ", high);
  if (std::isinf(low) || std::isinf(high))
    fail<ValueError>(c, "range of [", low, ", ", high, "] is not finite");
  const int64_t bins = c.integer(A::bins);
  c.set(0, IntArrayRef(bins), t.dtype);
}

// Sized by the kernels.
TENON_INFER(unique2) {
  using A = args::unique2;
  c.set(0, IntArrayRef(), c.tensor(A::self).dtype);
  c.set(1, IntArrayRef(), kLong);
  c.set(2, IntArrayRef(), kLong);
}
TENON_INFER(unique_dim) {
  using A = args::unique_dim;
  c.dim(c.integer(A::dim), c.tensor(A::self).ndim());
  infer_unique2(c);
}
TENON_INFER(unique_consecutive) {
  using A = args::unique_consecutive;
  if (!c.none(A::dim)) c.dim(c.integer(A::dim), c.tensor(A::self).ndim());
  infer_unique2(c);
}

TENON_INFER(searchsorted) {
  using A = args::searchsorted;
  const TensorImpl &row = c.tensor(A::sorted_sequence), &t = c.tensor(A::self);
  if (row.dtype != t.dtype) {
    fail<TypeError>(c, "expected ", dtype_name(row.dtype), " but found ", dtype_name(t.dtype),
                    " for argument 'self'");
  }
  if (row.ndim() == 0)
    fail<ValueError>(c, "argument 'sorted_sequence' must have at least 1 dimension");
  bool fits = row.ndim() == 1 || row.ndim() == t.ndim();
  for (int d = 0; fits && row.ndim() > 1 && d + 1 < row.ndim(); ++d)
    fits = row.size(d) == t.size(d);
  if (!fits) {
    fail<ValueError>(c, "rows of shape ", row.sizes(), " do not match 'self' of shape ", t.sizes());
  }
  if (!c.none(A::side)) {
    std::string_view side(c.in[A::side].u.str, c.in[A::side].len);
    if (side != "left" && side != "right")
      fail<ValueError>(c, "argument 'side' must be left or right, got '", side, "'");
    if (side == "left" && c.flag(A::right))
      fail<ValueError>(c, "side 'left' contradicts right=true");
  }
  if (const TensorImpl* sorter = c.tensor_or_null(A::sorter)) {
    if (sorter->sizes() != row.sizes() || sorter->dtype != kLong) {
      fail<ValueError>(c,
                       "argument 'sorter' must be int64 with the shape of 'sorted_sequence', got ",
                       sorter->sizes());
    }
  }
  c.set(0, t.sizes(), c.flag(A::out_int32) ? kInt : kLong);
}

TENON_INFER(repeat_interleave) {
  using A = args::repeat_interleave;
  const TensorImpl& t = c.tensor(A::repeats);
  if (t.ndim() != 1)
    fail<ValueError>(c, "argument 'repeats' must have 1 dimension, got ", t.ndim());
  if (t.dtype != kLong && t.dtype != kInt) {
    fail<TypeError>(c, "argument 'repeats' must be int64 or int32, got ", dtype_name(t.dtype));
  }
  c.set(0, IntArrayRef(), t.dtype);
}

}  // namespace tenon::core
