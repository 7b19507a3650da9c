// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of reading and writing by index. What an index tensor holds is checked by the kernels, before any write.
#include <algorithm>

#include "tenon/core/error.h"
#include "tenon/core/infer.h"
#include "tenon/core/log.h"

namespace tenon::core {
namespace {

void check_index_dtype(Infer& c, int arg, const TensorImpl& index) {
  if (index.dtype != kLong && index.dtype != kInt) {
    fail<IndexError>(c, c.arg(arg), " must be int64 or int32: index tensors are integers, got ",
                     dtype_name(index.dtype));
  }
}

void check_same_dtype(Infer& c, int arg, ScalarType want) {
  if (c.tensor(arg).dtype != want) {
    fail<TypeError>(c, "expected ", dtype_name(want), " but found ", dtype_name(c.tensor(arg).dtype), " for ",
                    c.arg(arg));
  }
}

// A 0-dim tensor counts as a vector of one element.
int64_t size_of(const TensorImpl& t, int d) { return t.ndim() ? t.size(d) : 1; }

// self, dim, index, source: index has one dimension, source has its length in `dim` and self's sizes elsewhere.
void check_slices(Infer& c, int dim, const TensorImpl& index, const TensorImpl& source, int source_arg) {
  const TensorImpl& self = c.tensor(0);
  if (index.ndim() > 1) fail<ValueError>(c, "argument 'index' must have at most 1 dimension, got ", index.ndim());
  if (source.ndim() != self.ndim() && !(source.ndim() <= 1 && self.ndim() <= 1)) {
    fail<ValueError>(c, c.arg(source_arg), " has ", source.ndim(), " dimensions but 'self' has ", self.ndim());
  }
  if (index.numel != size_of(source, dim)) {
    fail<IndexError>(c, "'index' holds ", index.numel, " numbers but ", c.arg(source_arg), " has size ",
                     size_of(source, dim), " at dimension ", dim);
  }
  for (int d = 0; d < self.ndim() && d < source.ndim(); ++d) {
    if (d != dim && self.size(d) != source.size(d)) {
      fail<ValueError>(c, c.arg(source_arg), " of shape ", text(source.sizes()), " does not match ", text(self.sizes()),
                       " at dimension ", d);
    }
  }
}

// index may not be larger than `other` but for `dim`; for gather and scatter.
void check_within(Infer& c, int dim, const TensorImpl& index, const TensorImpl& other, bool also_dim,
                  const char* name) {
  int n = std::max(1, index.ndim());
  if (n != std::max(1, other.ndim())) {
    fail<IndexError>(c, "argument 'index' has ", index.ndim(), " dimensions but '", name, "' has ", other.ndim());
  }
  for (int d = 0; d < n; ++d) {
    if ((d != dim || also_dim) && size_of(index, d) > size_of(other, d)) {
      fail<IndexError>(c, "size ", size_of(index, d), " of 'index' at dimension ", d, " exceeds size ",
                       size_of(other, d), " of '", name, "'");
    }
  }
}

void broadcast_into(Infer& c, const TensorImpl& t, int64_t* sizes, int& n) {
  if (t.ndim() > n) {
    std::copy_backward(sizes, sizes + n, sizes + t.ndim());
    std::fill(sizes, sizes + (t.ndim() - n), 1);
    n = t.ndim();
  }
  for (int d = 0; d < t.ndim(); ++d) {
    int64_t& s = sizes[n - t.ndim() + d];
    if (t.size(d) == 1 || t.size(d) == s) continue;
    if (s != 1) {
      fail<IndexError>(c, "the shapes of the index tensors do not broadcast: ", text(IntArrayRef(sizes, n)), " and ",
                       text(t.sizes()));
    }
    s = t.size(d);
  }
}

// The shape of self[indices]: the indexed dimensions become the broadcast shape of the index tensors, in place if they
// are neighbours and in front if not. A mask covers as many dimensions as it has; only index_put's kernels take them.
struct Indexed {
  int64_t sizes[2 * kMaxDims];
  int n = 0;
  bool masked = false;
};

void indexed_shape(Infer& c, int arg, bool masks, Indexed& out) {
  const TensorImpl& self = c.tensor(0);
  int64_t shape[kMaxDims];
  int n = 0, d = 0, first = -1, last = -1;
  uint64_t indexed = 0;
  if (c.list_size(arg) == 0) fail<IndexError>(c, "argument 'indices' is an empty list");
  for (int k = 0; k < c.list_size(arg); ++k) {
    const TensorImpl* t = c.list_tensor(arg, k);
    bool mask = t && (t->dtype == kBool || t->dtype == kByte);
    int covers = mask ? t->ndim() : 1;
    if (d + covers > self.ndim()) {
      fail<IndexError>(c, "too many indices (", c.list_size(arg), ") for rank ", self.ndim());
    }
    if (t) {
      if (mask && t->dtype == kByte)
        warn_once("uint8-mask", "deprecated", join(c.op.name, ": a uint8 tensor is used as a mask; use bool"));
      // It would stand for a dimension that self does not have, and so a false one would be taken for nothing at all.
      if (mask && covers == 0) {
        fail<IndexError>(c, "argument 'indices': a mask without dimensions; give self one of size 1 and index it");
      }
      if (mask && !masks) fail<IndexError>(c, "masks are resolved by index, not here");
      if (!mask && t->dtype != kLong && t->dtype != kInt) {
        fail<IndexError>(c, "index tensors must be int64, int32 or bool, got ", dtype_name(t->dtype));
      }
      for (int i = 0; mask && i < covers; ++i) {
        if (t->size(i) != self.size(d + i)) {
          fail<IndexError>(c, "mask shape ", text(t->sizes()), " does not match ", text(self.sizes()), " at position ",
                           d + i);
        }
      }
      out.masked |= mask;
      if (!mask) broadcast_into(c, *t, shape, n);
      for (int i = 0; i < covers; ++i) indexed |= uint64_t{1} << (d + i);
      if (first < 0) first = d;
      last = std::max(last, d + covers - 1);
    }
    d += covers;
  }
  bool adjacent = first >= 0;
  for (int i = first; adjacent && i <= last; ++i) adjacent = indexed >> i & 1;
  int at = adjacent ? first : 0;
  for (int i = 0; i < self.ndim(); ++i) {
    if (i == at || (!adjacent && i == 0)) {
      for (int k = 0; k < n; ++k) out.sizes[out.n++] = shape[k];
    }
    if (!(indexed >> i & 1)) out.sizes[out.n++] = self.size(i);
  }
  if (self.ndim() == 0) {
    for (int k = 0; k < n; ++k) out.sizes[out.n++] = shape[k];
  }
}

void check_reduce(Infer& c, int arg, std::initializer_list<std::string_view> known) {
  std::string_view given(c.in[arg].u.str, c.in[arg].len);
  std::string names;
  for (std::string_view k : known) {
    if (given == k) return;
    names += names.empty() ? "" : ", ";
    names += k;
  }
  fail<ValueError>(c, "argument 'reduce' must be one of ", names, ", got '", given, "'");
}

void set_same(Infer& c) { c.set_like(0, c.tensor(0), c.tensor(0).dtype); }

}  // namespace

TENON_INFER(index) {
  Indexed s;
  indexed_shape(c, 1, false, s);
  c.set(0, {s.sizes, static_cast<std::size_t>(s.n)}, c.tensor(0).dtype);
}

TENON_INFER(index_put) {
  Indexed s;
  indexed_shape(c, 1, true, s);
  const TensorImpl& values = c.tensor(2);
  check_same_dtype(c, 2, c.tensor(0).dtype);
  if (!s.masked) {
    int lead = s.n - values.ndim();
    for (int d = 0; d < values.ndim(); ++d) {
      if (values.size(d) == 1) continue;
      if (lead + d < 0 || values.size(d) != s.sizes[lead + d]) {
        fail<IndexError>(c, "argument 'values' of shape ", text(values.sizes()),
                         " cannot be broadcast to the indexed shape ", text(IntArrayRef(s.sizes, s.n)));
      }
    }
  }
  set_same(c);
}

TENON_INFER(index_select) {
  const TensorImpl &self = c.tensor(0), &index = c.tensor(2);
  int dim = c.dim(c.integer(1), self.ndim());
  check_index_dtype(c, 2, index);
  if (index.ndim() > 1) fail<IndexError>(c, "argument 'index' must have at most 1 dimension, got ", index.ndim());
  int64_t sizes[kMaxDims];
  std::copy(self.sizes().begin(), self.sizes().end(), sizes);
  if (self.ndim())
    sizes[dim] = index.numel;
  else if (index.numel != 1)
    fail<IndexError>(c, "a 0-dim tensor takes one index, got ", index.numel);
  c.set(0, {sizes, static_cast<std::size_t>(self.ndim())}, self.dtype);
}

namespace {
void add_slices(Infer& c) {
  int dim = c.dim(c.integer(1), c.tensor(0).ndim());
  check_index_dtype(c, 2, c.tensor(2));
  check_same_dtype(c, 3, c.tensor(0).dtype);
  check_slices(c, dim, c.tensor(2), c.tensor(3), 3);
  set_same(c);
}
}  // namespace

TENON_INFER(index_add) {
  add_slices(c);
  c.check_fits(4, c.tensor(0).dtype);
}
TENON_INFER(index_copy) { add_slices(c); }
TENON_INFER(index_reduce) {
  check_reduce(c, 4, {"prod", "mean", "amax", "amin"});
  add_slices(c);
}

TENON_INFER(index_fill) {
  if (c.op.args[3].type == ArgType::Scalar) c.check_fits(3, c.tensor(0).dtype);
  c.dim(c.integer(1), c.tensor(0).ndim());
  check_index_dtype(c, 2, c.tensor(2));
  if (c.tensor(2).ndim() > 1)
    fail<IndexError>(c, "argument 'index' must have at most 1 dimension, got ", c.tensor(2).ndim());
  set_same(c);
}
TENON_INFER(index_fill_tensor) {
  if (c.tensor(3).ndim() != 0) fail<ValueError>(c, "argument 'value' must have 0 dimensions, got ", c.tensor(3).ndim());
  infer_index_fill(c);
}

TENON_INFER(gather) {
  const TensorImpl &self = c.tensor(0), &index = c.tensor(2);
  int dim = c.dim(c.integer(1), self.ndim());
  if (index.numel > 0) {
    check_index_dtype(c, 2, index);
    check_within(c, dim, index, self, false, "self");
  }
  c.set(0, index.sizes(), self.dtype);
}

TENON_INFER(scatter_value) {
  if (c.op.args[3].type == ArgType::Scalar) c.check_fits(3, c.tensor(0).dtype);
  int dim = c.dim(c.integer(1), c.tensor(0).ndim());
  if (c.tensor(2).numel > 0) {
    check_index_dtype(c, 2, c.tensor(2));
    check_within(c, dim, c.tensor(2), c.tensor(0), false, "self");
  }
  set_same(c);
}
TENON_INFER(scatter_src) {
  infer_scatter_value(c);
  check_same_dtype(c, 3, c.tensor(0).dtype);
  if (c.tensor(2).numel > 0) check_within(c, -1, c.tensor(2), c.tensor(3), true, "src");
}
TENON_INFER(scatter_reduce) {
  check_reduce(c, 4, {"sum", "prod", "mean", "amax", "amin"});
  if (c.tensor(0).dtype == kBool && std::string_view(c.in[4].u.str, c.in[4].len) == "mean") {
    fail<NotImplementedError>(c, "a mean is not implemented for dtype bool; it takes number");
  }
  infer_scatter_src(c);
}

TENON_INFER(pointwise_masked_fill) {
  if (c.op.args[2].type == ArgType::Scalar) c.check_fits(2, c.tensor(0).dtype);
  const TensorImpl& mask = c.tensor(1);
  if (mask.dtype != kBool && mask.dtype != kByte) {
    fail<TypeError>(c, "argument 'mask' must be bool, got ", dtype_name(mask.dtype));
  }
  c.broadcast_shape(0, {0, 1}, c.tensor(0).dtype);
  c.expand(0);
  c.expand(1);
}
TENON_INFER(pointwise_masked_fill_tensor) {
  if (c.tensor(2).ndim() != 0) fail<ValueError>(c, "argument 'value' must have 0 dimensions, got ", c.tensor(2).ndim());
  infer_pointwise_masked_fill(c);
}

TENON_INFER(masked_select) {
  const TensorImpl& mask = c.tensor(1);
  if (mask.dtype != kBool && mask.dtype != kByte) {
    fail<TypeError>(c, "argument 'mask' must be bool, got ", dtype_name(mask.dtype));
  }
  c.broadcast_shape(0, {0, 1}, c.tensor(0).dtype);  // checks; the kernel sizes the output
  c.set(0, IntArrayRef(), c.tensor(0).dtype);
}

TENON_INFER(masked_scatter) {
  if (c.tensor(1).dtype != kBool && c.tensor(1).dtype != kByte) {
    fail<TypeError>(c, "argument 'mask' must be bool, got ", dtype_name(c.tensor(1).dtype));
  }
  check_same_dtype(c, 2, c.tensor(0).dtype);
  c.broadcast_shape(0, {0, 1}, c.tensor(0).dtype);
  c.out[0].has_strides = false;
  c.expand(0);
  c.expand(1);
}

TENON_INFER(nonzero) { c.set(0, IntArrayRef(), kLong); }

TENON_INFER(embedding) {
  const TensorImpl &weight = c.tensor(0), &indices = c.tensor(1);
  if (weight.ndim() != 2) fail<ValueError>(c, "argument 'weight' must be a matrix, got ", weight.ndim(), " dimensions");
  check_index_dtype(c, 1, indices);
  int64_t sizes[kMaxDims + 1];
  std::copy(indices.sizes().begin(), indices.sizes().end(), sizes);
  sizes[indices.ndim()] = weight.size(1);
  c.set(0, {sizes, static_cast<std::size_t>(indices.ndim() + 1)}, weight.dtype);
}

TENON_INFER(embedding_dense_backward) {
  const TensorImpl &grad = c.tensor(0), &indices = c.tensor(1);
  check_index_dtype(c, 1, indices);
  bool fits = grad.ndim() == indices.ndim() + 1;
  for (int d = 0; fits && d < indices.ndim(); ++d) fits = grad.size(d) == indices.size(d);
  if (!fits) {
    fail<ValueError>(c, "gradient of shape ", text(grad.sizes()), " does not match indices of shape ",
                     text(indices.sizes()));
  }
  int64_t sizes[2] = {c.integer(2), grad.size(grad.ndim() - 1)};
  c.set(0, sizes, grad.dtype);
}

TENON_INFER(embedding_bag) {
  const TensorImpl &weight = c.tensor(0), &indices = c.tensor(1), &offsets = c.tensor(2);
  if (weight.ndim() != 2) fail<ValueError>(c, "argument 'weight' must be a matrix, got ", weight.ndim(), " dimensions");
  check_index_dtype(c, 1, indices);
  check_index_dtype(c, 2, offsets);
  if (indices.ndim() != 1 || offsets.ndim() != 1) {
    fail<ValueError>(c, "arguments 'indices' and 'offsets' must be vectors, got shapes ", text(indices.sizes()),
                     " and ", text(offsets.sizes()));
  }
  const bool with_last = c.flag(7);
  if (with_last && offsets.numel == 0) fail<ValueError>(c, "include_last_offset: offsets must hold one number or more");
  const int64_t mode = c.integer(4), bags = offsets.numel - (with_last ? 1 : 0);
  if (bags == 0 && indices.numel > 0) fail<ValueError>(c, "offsets names no bag for the ", indices.numel, " indices");
  if (mode < 0 || mode > 2) fail<ValueError>(c, "mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  if (!c.none(6)) {
    const TensorImpl& factors = c.tensor(6);
    if (mode != 0) fail<ValueError>(c, "per_sample_weights is only supported with mode 0 (sum), got mode ", mode);
    if (factors.ndim() != 1 || factors.numel != indices.numel) {
      fail<ValueError>(c, "per_sample_weights of shape ", text(factors.sizes()), " must be one number for each of the ",
                       indices.numel, " indices");
    }
    check_same_dtype(c, 6, weight.dtype);
  }
  const int64_t rows[] = {bags, weight.size(1)}, each[] = {indices.numel}, none[] = {0};
  c.set(0, rows, weight.dtype);
  c.set(1, each, kLong);
  c.set(2, {rows, 1}, kLong);
  if (mode == 2)
    c.set(3, rows, kLong);
  else
    c.set(3, none, kLong);
}

}  // namespace tenon::core
