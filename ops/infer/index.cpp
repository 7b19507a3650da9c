// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Shapes of reading and writing by index. What an index tensor holds is checked by the kernels,
// before any write.
#include <algorithm>

#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

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
    fail<TypeError>(c, "expected ", dtype_name(want), " but found ",
                    dtype_name(c.tensor(arg).dtype), " for ", c.arg(arg));
  }
}

// A 0-dim tensor counts as a vector of one element.
int64_t size_of(const TensorImpl& t, int d) { return t.ndim() ? t.size(d) : 1; }

// self, dim, index, source: index has one dimension, source has its length in `dim` and self's
// sizes elsewhere.
void check_slices(Infer& c, int dim, const TensorImpl& index, const TensorImpl& source,
                  int source_arg) {
  using A = args::index_add;
  const TensorImpl& self = c.tensor(A::self);
  if (index.ndim() > 1)
    fail<ValueError>(c, "argument 'index' must have at most 1 dimension, got ", index.ndim());
  if (source.ndim() != self.ndim() && !(source.ndim() <= 1 && self.ndim() <= 1)) {
    fail<ValueError>(c, c.arg(source_arg), " has ", source.ndim(), " dimensions but 'self' has ",
                     self.ndim());
  }
  if (index.numel != size_of(source, dim)) {
    fail<IndexError>(c, "'index' holds ", index.numel, " numbers but ", c.arg(source_arg),
                     " has size ", size_of(source, dim), " at dimension ", dim);
  }
  for (int d = 0; d < self.ndim() && d < source.ndim(); ++d) {
    if (d != dim && self.size(d) != source.size(d)) {
      fail<ValueError>(c, c.arg(source_arg), " of shape ", source.sizes(), " does not match ",
                       self.sizes(), " at dimension ", d);
    }
  }
}

// index may not be larger than `other` but for `dim`; for gather and scatter.
void check_within(Infer& c, int dim, const TensorImpl& index, const TensorImpl& other,
                  bool also_dim, const char* name) {
  int n = std::max(1, index.ndim());
  if (n != std::max(1, other.ndim())) {
    fail<IndexError>(c, "argument 'index' has ", index.ndim(), " dimensions but '", name, "' has ",
                     other.ndim());
  }
  for (int d = 0; d < n; ++d) {
    if ((d != dim || also_dim) && size_of(index, d) > size_of(other, d)) {
      fail<IndexError>(c, "size ", size_of(index, d), " of 'index' at dimension ", d,
                       " exceeds size ", size_of(other, d), " of '", name, "' (", index.sizes(),
                       ", ", other.sizes(), ")");
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
      fail<IndexError>(c,
                       "the shapes of the index tensors do not broadcast: ", IntArrayRef(sizes, n),
                       " and ", t.sizes());
    }
    s = t.size(d);
  }
}

// The shape of self[indices]: the indexed dimensions become the broadcast shape of the index
// tensors, in place if they are neighbors and in front if not. A mask covers as many dimensions as
// it has; only index_put's kernels take them.
struct Indexed {
  int64_t sizes[2 * kMaxDims];
  int n = 0;
  bool masked = false;
};

void indexed_shape(Infer& c, int arg, bool masks, Indexed& out) {
  using A = args::index;
  const TensorImpl& self = c.tensor(A::self);
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
        warn("deprecated",
             "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
             "instead");
      // It would stand for a dimension that self does not have, and so a false one would be taken
      // for nothing at all.
      if (mask && covers == 0) {
        fail<IndexError>(
            c,
            "argument 'indices': a mask without dimensions; give self one of size 1 and index it");
      }
      if (mask && !masks) fail<IndexError>(c, "masks are resolved by index, not here");
      if (!mask && t->dtype != kLong && t->dtype != kInt) {
        fail<IndexError>(c, "index tensors must be int64, int32 or bool, got ",
                         dtype_name(t->dtype));
      }
      for (int i = 0; mask && i < covers; ++i) {
        if (t->size(i) != self.size(d + i)) {
          fail<IndexError>(c, "mask shape ", t->sizes(), " does not match ", self.sizes(),
                           " at position ", d + i);
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

void set_same(Infer& c) {
  using A = args::index_fill;
  c.set_like(0, c.tensor(A::self), c.tensor(A::self).dtype);
}

}  // namespace

TENON_INFER(index) {
  using A = args::index;
  Indexed s;
  indexed_shape(c, A::indices, false, s);
  c.set(0, {s.sizes, static_cast<std::size_t>(s.n)}, c.tensor(A::self).dtype);
}

TENON_INFER(index_put) {
  using A = args::index_put;
  Indexed s;
  indexed_shape(c, A::indices, true, s);
  const TensorImpl& values = c.tensor(A::values);
  check_same_dtype(c, A::values, c.tensor(A::self).dtype);
  if (!s.masked) {
    int lead = s.n - values.ndim();
    for (int d = 0; d < values.ndim(); ++d) {
      if (values.size(d) == 1) continue;
      if (lead + d < 0 || values.size(d) != s.sizes[lead + d]) {
        fail<IndexError>(c, "argument 'values' of shape ", values.sizes(),
                         " cannot be broadcast to the indexed shape (shape mismatch) ",
                         IntArrayRef(s.sizes, s.n));
      }
    }
  }
  set_same(c);
}

TENON_INFER(index_select) {
  using A = args::index_select;
  const TensorImpl &self = c.tensor(A::self), &index = c.tensor(A::index);
  int dim = c.dim(c.integer(A::dim), self.ndim());
  check_index_dtype(c, A::index, index);
  if (index.ndim() > 1)
    fail<IndexError>(c, "argument 'index' must have at most 1 dimension, got ", index.ndim());
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
  using A = args::index_add;
  int dim = c.dim(c.integer(A::dim), c.tensor(A::self).ndim());
  check_index_dtype(c, A::index, c.tensor(A::index));
  check_same_dtype(c, A::source, c.tensor(A::self).dtype);
  check_slices(c, dim, c.tensor(A::index), c.tensor(A::source), 3);
  set_same(c);
}
}  // namespace

TENON_INFER(index_add) {
  using A = args::index_add;
  add_slices(c);
  c.check_fits(A::alpha, c.tensor(A::self).dtype);
}
TENON_INFER(index_copy) { add_slices(c); }
TENON_INFER(index_reduce) {
  using A = args::index_reduce;
  check_reduce(c, A::reduce, {"prod", "mean", "amax", "amin"});
  add_slices(c);
}

TENON_INFER(index_fill) {
  using A = args::index_fill;
  if (c.op.args[A::value].type == ArgType::Scalar) c.check_fits(A::value, c.tensor(A::self).dtype);
  c.dim(c.integer(A::dim), c.tensor(A::self).ndim());
  check_index_dtype(c, A::index, c.tensor(A::index));
  if (c.tensor(A::index).ndim() > 1)
    fail<IndexError>(c, "argument 'index' must have at most 1 dimension, got ",
                     c.tensor(A::index).ndim());
  set_same(c);
}
TENON_INFER(index_fill_tensor) {
  using A = args::index_fill_tensor;
  if (c.tensor(A::value).ndim() != 0)
    fail<ValueError>(c, "argument 'value' must have 0 dimensions, got ", c.tensor(A::value).ndim());
  infer_index_fill(c);
}

TENON_INFER(gather) {
  using A = args::gather;
  const TensorImpl &self = c.tensor(A::self), &index = c.tensor(A::index);
  int dim = c.dim(c.integer(A::dim), self.ndim());
  if (index.numel > 0) {
    check_index_dtype(c, A::index, index);
    check_within(c, dim, index, self, false, "self");
  }
  c.set(0, index.sizes(), self.dtype);
}

TENON_INFER(scatter_value) {
  using A = args::scatter_value;
  if (c.op.args[A::value].type == ArgType::Scalar) c.check_fits(A::value, c.tensor(A::self).dtype);
  int dim = c.dim(c.integer(A::dim), c.tensor(A::self).ndim());
  if (c.tensor(A::index).numel > 0) {
    check_index_dtype(c, A::index, c.tensor(A::index));
    check_within(c, dim, c.tensor(A::index), c.tensor(A::self), false, "self");
  }
  set_same(c);
}
TENON_INFER(scatter_src) {
  using A = args::scatter_src;
  infer_scatter_value(c);
  check_same_dtype(c, A::src, c.tensor(A::self).dtype);
  if (c.tensor(A::index).numel > 0)
    check_within(c, -1, c.tensor(A::index), c.tensor(A::src), true, "src");
}
TENON_INFER(scatter_reduce) {
  using A = args::scatter_reduce;
  check_reduce(c, A::reduce, {"sum", "prod", "mean", "amax", "amin"});
  if (c.tensor(A::self).dtype == kBool &&
      std::string_view(c.in[A::reduce].u.str, c.in[A::reduce].len) == "mean") {
    fail<NotImplementedError>(c, "a mean is not implemented for dtype bool; it takes number");
  }
  infer_scatter_src(c);
}

TENON_INFER(pointwise_masked_fill) {
  using A = args::pointwise_masked_fill;
  if (c.op.args[A::value].type == ArgType::Scalar) c.check_fits(A::value, c.tensor(A::self).dtype);
  const TensorImpl& mask = c.tensor(A::mask);
  if (mask.dtype != kBool && mask.dtype != kByte) {
    fail<TypeError>(c, "argument 'mask' must be bool, got ", dtype_name(mask.dtype));
  }
  c.broadcast_shape(0, {A::self, A::mask}, c.tensor(A::self).dtype);
  c.expand(A::self);
  c.expand(A::mask);
}
TENON_INFER(pointwise_masked_fill_tensor) {
  using A = args::pointwise_masked_fill_tensor;
  if (c.tensor(A::value).ndim() != 0)
    fail<ValueError>(c, "argument 'value' must have 0 dimensions, got ", c.tensor(A::value).ndim());
  if (isComplexType(c.tensor(A::value).dtype) && !isComplexType(c.tensor(A::self).dtype)) {
    fail<TypeError>(c, "argument 'value' of dtype ", dtype_name(c.tensor(A::value).dtype),
                    " cannot be converted to ", dtype_name(c.tensor(A::self).dtype));
  }
  infer_pointwise_masked_fill(c);
}

TENON_INFER(masked_select) {
  using A = args::masked_select;
  const TensorImpl& mask = c.tensor(A::mask);
  if (mask.dtype != kBool && mask.dtype != kByte) {
    fail<TypeError>(c, "argument 'mask' must be bool, got ", dtype_name(mask.dtype));
  }
  c.broadcast_shape(0, {A::self, A::mask},
                    c.tensor(A::self).dtype);  // checks; the kernel sizes the output
  c.set(0, IntArrayRef(), c.tensor(A::self).dtype);
}

TENON_INFER(masked_scatter) {
  using A = args::masked_scatter;
  if (c.tensor(A::mask).dtype != kBool && c.tensor(A::mask).dtype != kByte) {
    fail<TypeError>(c, "argument 'mask' must be bool, got ", dtype_name(c.tensor(A::mask).dtype));
  }
  check_same_dtype(c, A::source, c.tensor(A::self).dtype);
  c.broadcast_shape(0, {A::self, A::mask}, c.tensor(A::self).dtype);
  c.out[0].has_strides = false;
  c.expand(A::self);
  c.expand(A::mask);
}

TENON_INFER(nonzero) { c.set(0, IntArrayRef(), kLong); }

TENON_INFER(embedding) {
  using A = args::embedding;
  const TensorImpl &weight = c.tensor(A::weight), &indices = c.tensor(A::indices);
  if (weight.ndim() != 2)
    fail<ValueError>(c, "argument 'weight' must be a matrix, got ", weight.ndim(), " dimensions");
  check_index_dtype(c, A::indices, indices);
  int64_t sizes[kMaxDims + 1];
  std::copy(indices.sizes().begin(), indices.sizes().end(), sizes);
  sizes[indices.ndim()] = weight.size(1);
  c.set(0, {sizes, static_cast<std::size_t>(indices.ndim() + 1)}, weight.dtype);
}

TENON_INFER(embedding_dense_backward) {
  using A = args::embedding_dense_backward;
  const TensorImpl &grad = c.tensor(A::grad_output), &indices = c.tensor(A::indices);
  check_index_dtype(c, A::indices, indices);
  bool fits = grad.ndim() == indices.ndim() + 1;
  for (int d = 0; fits && d < indices.ndim(); ++d) fits = grad.size(d) == indices.size(d);
  if (!fits) {
    fail<ValueError>(c, "gradient of shape ", grad.sizes(), " does not match indices of shape ",
                     indices.sizes());
  }
  int64_t sizes[2] = {c.integer(A::num_weights), grad.size(grad.ndim() - 1)};
  c.set(0, sizes, grad.dtype);
}

TENON_INFER(embedding_bag) {
  using A = args::embedding_bag;
  const TensorImpl &weight = c.tensor(A::weight), &indices = c.tensor(A::indices),
                   &offsets = c.tensor(A::offsets);
  if (weight.ndim() != 2)
    fail<ValueError>(c, "argument 'weight' must be a matrix, got ", weight.ndim(), " dimensions");
  check_index_dtype(c, A::indices, indices);
  check_index_dtype(c, A::offsets, offsets);
  if (indices.ndim() != 1 || offsets.ndim() != 1) {
    fail<ValueError>(c, "arguments 'indices' and 'offsets' must be vectors, got shapes ",
                     indices.sizes(), " and ", offsets.sizes());
  }
  const bool with_last = c.flag(A::include_last_offset);
  if (with_last && offsets.numel == 0)
    fail<ValueError>(c, "include_last_offset: offsets must hold one number or more");
  const int64_t mode = c.integer(A::mode), bags = offsets.numel - (with_last ? 1 : 0);
  if (bags == 0 && indices.numel > 0)
    fail<ValueError>(c, "offsets names no bag for the ", indices.numel, " indices");
  if (mode < 0 || mode > 2)
    fail<ValueError>(c, "mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  if (!c.none(A::per_sample_weights)) {
    const TensorImpl& factors = c.tensor(A::per_sample_weights);
    if (mode != 0)
      fail<ValueError>(c, "per_sample_weights is only supported with mode 0 (sum), got mode ",
                       mode);
    if (factors.ndim() != 1 || factors.numel != indices.numel) {
      fail<ValueError>(c, "per_sample_weights of shape ", factors.sizes(),
                       " must be one number for each of the ", indices.numel, " indices");
    }
    check_same_dtype(c, A::per_sample_weights, weight.dtype);
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
