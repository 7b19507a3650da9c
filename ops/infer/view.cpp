// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Geometry of views. Offsets count elements from the start of the storage.
#include <algorithm>

#include "infer_args.gen.h"
#include "tenon/core/infer.h"
#include "tenon/runtime/error.h"

namespace tenon::core {
namespace {

// Dimensions under construction.
struct Shape {
  int n = 0;
  int64_t size[kMaxDims];
  int64_t stride[kMaxDims];

  void push(const Infer& c, int64_t s, int64_t st) {
    if (n >= kMaxDims) fail<ValueError>(c, "a tensor has at most ", kMaxDims, " dimensions");
    size[n] = s;
    stride[n++] = st;
  }
  IntArrayRef sizes() const { return {size, static_cast<std::size_t>(n)}; }
  IntArrayRef strides() const { return {stride, static_cast<std::size_t>(n)}; }
};

// The view of argument 0 whose first element is `offset` elements past that of the argument.
void finish(Infer& c, const Shape& s, int64_t offset = 0) {
  using A = args::alias;
  c.set_view(0, A::self, s.sizes(), s.strides(), c.tensor(A::self).storage_offset() + offset);
}

// Of views that may have more elements than what they are a view of.
void check_numel(Infer& c, const Shape& s) {
  (void)product(s.size, s.n).get(c.op.name, "the number of elements");
}

// By how many elements view and argument begin apart. Only where there are no elements it can be
// beyond 64 bits.
int64_t distance(Infer& c, int64_t steps, int64_t stride) {
  using A = args::diagonal;
  return (Size(steps) * stride + c.tensor(A::self).storage_offset()).get(c.op.name, "the offset") -
         c.tensor(A::self).storage_offset();
}

void copy_dims(Infer& c, const TensorImpl& t, Shape& s) {
  for (int d = 0; d < t.ndim(); ++d) s.push(c, t.size(d), t.stride(d));
}

// Fills in -1 and checks the element count.
void resolve_shape(Infer& c, IntArrayRef given, const TensorImpl& of, Shape& s) {
  int64_t known = 1;
  int unknown = -1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    s.push(c, given[i], 0);
    if (given[i] == -1) {
      if (unknown >= 0) fail<ValueError>(c, "only one dimension of shape ", given, " can be -1");
      unknown = static_cast<int>(i);
    } else if (given[i] < 0) {
      fail<ValueError>(c, "negative size ", given[i], " in shape ", given);
    } else if (__builtin_mul_overflow(known, given[i], &known)) {
      fail<ValueError>(c, "shape ", given, " has too many elements");
    }
  }
  if (unknown >= 0) {
    if (known == 0)
      fail<ValueError>(c, "-1 in shape ", given, " is ambiguous: the other sizes hold no element");
    s.size[unknown] = of.numel / known;
    known *= s.size[unknown];
  }
  if (known != of.numel) {
    fail<ValueError>(c, "shape ", given, " is invalid for an input of ", of.numel, " elements (",
                     of.sizes(), ")");
  }
}

int wrapped_index(Infer& c, int64_t given, int64_t size, int dim) {
  if (given < -size || given >= size) {
    fail<IndexError>(c, "index ", given, " is out of bounds for dimension ", dim, " of size ",
                     size);
  }
  return static_cast<int>(given < 0);
}

}  // namespace

bool view_strides(const TensorImpl& t, IntArrayRef shape, int64_t* strides) {
  if (t.contiguous() || t.numel == 0) {
    contiguous_strides(static_cast<int>(shape.size()), shape.data(), strides);
    return true;
  }
  // Old dimensions that lie in one run of memory may be cut and joined.
  int v = static_cast<int>(shape.size()) - 1;
  int64_t run = 1;  // elements of the current run of old dimensions
  int64_t base = t.ndim() ? t.stride(t.ndim() - 1) : 1;
  int64_t taken = 1;  // of which the new dimensions have covered
  for (int d = t.ndim() - 1; d >= 0; --d) {
    run *= t.size(d);
    bool ends = d == 0 || (t.size(d - 1) != 1 && t.stride(d - 1) != run * base);
    if (!ends) continue;
    while (v >= 0 && (taken < run || shape[static_cast<std::size_t>(v)] == 1)) {
      strides[v] = taken * base;
      taken *= shape[static_cast<std::size_t>(v--)];
    }
    if (taken != run) return false;
    if (d > 0) base = t.stride(d - 1);
    run = taken = 1;
  }
  for (; v >= 0; --v) {
    if (shape[static_cast<std::size_t>(v)] != 1) return false;
    strides[v] = base * taken;
  }
  return true;
}

TENON_INFER(view) {
  using A = args::view;
  const TensorImpl& t = c.tensor(A::self);
  Shape s;
  resolve_shape(c, c.ints(A::size), t, s);
  if (!view_strides(t, s.sizes(), s.stride)) {
    fail<ValueError>(c, "view is incompatible with strides ", t.strides(), " of sizes ", t.sizes(),
                     ": shape ", c.ints(A::size), " would need a copy; use reshape or contiguous");
  }
  finish(c, s);
}

TENON_INFER(as_strided) {
  using A = args::as_strided;
  const TensorImpl& t = c.tensor(A::self);
  IntArrayRef size = c.ints(A::size), stride = c.ints(A::stride);
  if (size.size() != stride.size()) {
    fail<ValueError>(c, "size ", size, " and stride ", stride, " differ in length");
  }
  int64_t offset = c.integer(A::storage_offset, t.storage_offset());
  if (offset < 0) fail<ValueError>(c, "storage_offset is ", offset, " but must not be negative");
  Shape s;
  Size reach = offset;  // of the last element
  bool empty = false;
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 0 || stride[d] < 0) {
      fail<ValueError>(c, "negative entry in size ", size, " or stride ", stride);
    }
    s.push(c, size[d], stride[d]);
    empty |= size[d] == 0;
    if (size[d] > 0) reach += (Size(size[d]) - 1) * stride[d];
  }
  if (!reach.fits()) fail<ValueError>(c, "size ", size, " and stride ", stride, " overflow");
  const int64_t last = reach.get(c.op.name, "the last element");
  if (!t.storage)
    fail<TypeError>(c, "expected a strided tensor, got one of a layout of its own; use to_dense()");
  int64_t held = static_cast<int64_t>(t.storage->bytes / t.itemsize());
  if (!empty && last >= held) {
    fail<ValueError>(c, "size ", size, ", stride ", stride, " and offset ", offset,
                     " reach element ", last, " but the storage holds ", held);
  }
  check_numel(c, s);
  c.set_view(0, A::self, s.sizes(), s.strides(), offset);
}

TENON_INFER(expand) {
  using A = args::expand;
  const TensorImpl& t = c.tensor(A::self);
  IntArrayRef want = c.ints(A::size);
  int lead = static_cast<int>(want.size()) - t.ndim();
  if (lead < 0) {
    fail<ValueError>(c, "cannot expand a tensor of ", t.ndim(), " dimensions to the shorter shape ",
                     want);
  }
  // New dimensions of size 1 next to the old ones step over the whole tensor, as in torch, where
  // as_strided() and stride() show it.
  int ones = lead;
  while (ones > 0 && want[ones - 1] == 1) --ones;
  const bool first_stays = t.ndim() > 0 && (want[lead] == -1 || want[lead] == t.size(0));
  const int64_t outer = first_stays ? t.size(0) * t.stride(0) : 0;
  Shape s;
  for (int d = 0; d < static_cast<int>(want.size()); ++d) {
    int64_t have = d < lead ? 1 : t.size(d - lead);
    int64_t size = want[d] == -1 && d >= lead ? have : want[d];
    if (size < 0 || (have != size && have != 1)) {
      fail<ValueError>(c, "cannot expand size ", have, " to ", want[d], " at dimension ", d, " (",
                       t.sizes(), " to ", want, ")");
    }
    bool keeps = d >= lead && have == size;
    s.push(c, size, keeps ? t.stride(d - lead) : d >= ones && d < lead ? outer : 0);
  }
  check_numel(c, s);
  finish(c, s);
}

TENON_INFER(permute) {
  using A = args::permute;
  const TensorImpl& t = c.tensor(A::self);
  IntArrayRef dims = c.ints(A::dims);
  if (static_cast<int>(dims.size()) != t.ndim()) {
    fail<ValueError>(c, "argument 'dims' ", dims, " must name all ", t.ndim(), " dimensions");
  }
  uint64_t seen = 0;
  Shape s;
  for (int64_t given : dims) {
    int d = c.dim(given, t.ndim());
    if (seen >> d & 1) fail<ValueError>(c, "dimension ", d, " appears twice in ", dims);
    seen |= uint64_t{1} << d;
    s.push(c, t.size(d), t.stride(d));
  }
  finish(c, s);
}

TENON_INFER(transpose) {
  using A = args::transpose;
  const TensorImpl& t = c.tensor(A::self);
  int a = c.dim(c.integer(A::dim0), t.ndim()), b = c.dim(c.integer(A::dim1), t.ndim());
  Shape s;
  copy_dims(c, t, s);
  if (t.ndim() > 0) {
    std::swap(s.size[a], s.size[b]);
    std::swap(s.stride[a], s.stride[b]);
  }
  finish(c, s);
}

// The last dimension is cut into smaller or joined into larger elements.
TENON_INFER(view_dtype) {
  using A = args::view_dtype;
  const TensorImpl& t = c.tensor(A::self);
  const ScalarType dtype = c.dtype(A::dtype, t.dtype);
  const int64_t from = t.itemsize(), to = item_size(dtype);
  Shape s;
  copy_dims(c, t, s);
  const int64_t offset = t.storage_offset() * from;
  if (from != to) {
    const std::string_view old_name = dtype_name(t.dtype), new_name = dtype_name(dtype);
    if (t.ndim() == 0)
      fail<ValueError>(c, "a 0-dim ", old_name, " has no dimension to cut or join for ", new_name);
    const int last = t.ndim() - 1;
    if (t.size(last) != 1 && t.stride(last) != 1) {
      fail<ValueError>(c, "from ", old_name, " to ", new_name,
                       " the last dimension must have stride 1, got ", t.stride(last));
    }
    bool fits = c.take(Size(t.size(last)) * from) % to == 0 && offset % to == 0;
    for (int d = 0; d < last; ++d) {
      fits = fits && (t.size(d) <= 1 || t.stride(d) * from % to == 0);
      s.stride[d] = t.stride(d) * from / to;
    }
    if (!fits) {
      fail<ValueError>(c, "sizes ", t.sizes(), ", strides ", t.strides(), " and offset ",
                       t.storage_offset(), " of ", old_name, " do not fall on elements of ",
                       new_name);
    }
    s.size[last] = c.take(Size(t.size(last)) * from / to);
    s.stride[last] = 1;
    check_numel(c, s);
  }
  finish(c, s);
  c.out[0].dtype = dtype;
}

TENON_INFER(view_as_real) {
  using A = args::view_as_real;
  const TensorImpl& t = c.tensor(A::self);
  if (!isComplexType(t.dtype))
    fail<TypeError>(c, "view_as_real is only supported for complex tensors, got ",
                    dtype_name(t.dtype));
  Shape s;
  copy_dims(c, t, s);
  for (int d = 0; d < t.ndim(); ++d) s.stride[d] = t.stride(d) * 2;
  s.size[t.ndim()] = 2;
  s.stride[t.ndim()] = 1;
  s.n = t.ndim() + 1;
  finish(c, s);
  c.out[0].dtype = toRealValueType(t.dtype);
}

TENON_INFER(view_as_complex) {
  using A = args::view_as_complex;
  const TensorImpl& t = c.tensor(A::self);
  const int last = t.ndim() - 1;
  if (t.dtype != kHalf && t.dtype != kFloat && t.dtype != kDouble)
    fail<TypeError>(c, "view_as_complex is only supported for half, float and double tensors, got ",
                    dtype_name(t.dtype));
  if (last < 0) fail<ValueError>(c, "Input tensor must have one or more dimensions");
  if (t.size(last) != 2)
    fail<ValueError>(c, "Tensor must have a last dimension of size 2, got ", t.sizes());
  if (t.stride(last) != 1)
    fail<ValueError>(c, "Tensor must have a last dimension with stride 1, got ", t.stride(last));
  Shape s;
  copy_dims(c, t, s);
  bool even = t.storage_offset() % 2 == 0;
  for (int d = 0; d < last; ++d) {
    even = even && t.stride(d) % 2 == 0;
    s.stride[d] = t.stride(d) / 2;
  }
  if (!even)
    fail<ValueError>(c, "Tensor must have a stride and storage offset divisible by 2 for all but ",
                     "last dimension, got strides ", t.strides(), " and offset ",
                     t.storage_offset());
  s.n = last;
  finish(c, s);
  c.out[0].dtype = t.dtype == kHalf ? kComplexHalf : toComplexType(t.dtype);
}

TENON_INFER(t) {
  using A = args::t;
  const TensorImpl& t = c.tensor(A::self);
  if (t.ndim() > 2) fail<ValueError>(c, "expected at most 2 dimensions but 'self' has ", t.ndim());
  Shape s;
  for (int d = t.ndim() - 1; d >= 0; --d) s.push(c, t.size(d), t.stride(d));
  finish(c, s);
}

TENON_INFER(select) {
  using A = args::select;
  const TensorImpl& t = c.tensor(A::self);
  if (t.ndim() == 0) fail<IndexError>(c, "invalid index of a 0-dim tensor; use item()");
  int d = c.dim(c.integer(A::dim), t.ndim());
  int64_t i = c.integer(A::index);
  if (wrapped_index(c, i, t.size(d), d)) i += t.size(d);  // bounded: in [-size, 0)
  Shape s;
  for (int k = 0; k < t.ndim(); ++k) {
    if (k != d) s.push(c, t.size(k), t.stride(k));
  }
  finish(c, s, distance(c, i, t.stride(d)));
}

namespace {

// The elements that a slice takes of `size`; brings `from` into [0, size].
int64_t slice_length(Infer& c, int64_t size, int64_t& from, int64_t to, int64_t step) {
  if (step <= 0) fail<ValueError>(c, "slice step must be positive, got ", step);
  if (from < 0) from += size;
  if (to < 0) to += size;
  from = std::clamp<int64_t>(from, 0, size);
  to = std::clamp<int64_t>(to, from, size);
  return (to - from) / step + ((to - from) % step != 0);
}

int64_t diagonal_length(int64_t rows, int64_t columns, int64_t offset) {
  return std::max<int64_t>(
      0, std::min(rows + std::min<int64_t>(offset, 0), columns - std::max<int64_t>(offset, 0)));
}

// The positions of a window over `have` elements.
int64_t windows(Infer& c, int64_t have, int at, int64_t size, int64_t step) {
  if (size < 0 || size > have) {
    fail<ValueError>(c, "window size ", size, " does not fit dimension ", at, " of size ", have);
  }
  if (step <= 0) fail<ValueError>(c, "step must be positive, got ", step);
  return (have - size) / step + 1;
}

}  // namespace

TENON_INFER(slice) {
  using A = args::slice;
  const TensorImpl& t = c.tensor(A::self);
  if (t.ndim() == 0) fail<IndexError>(c, "invalid index of a 0-dim tensor; use item()");
  int d = c.dim(c.integer(A::dim), t.ndim());
  int64_t size = t.size(d), step = c.integer(A::step);
  int64_t from = c.integer(A::start, 0), to = c.integer(A::end, size);
  Shape s;
  copy_dims(c, t, s);
  s.size[d] = slice_length(c, size, from, to, step);
  if (__builtin_mul_overflow(s.stride[d], step, &s.stride[d]))
    s.stride[d] = 0;  // then at most one element is left
  finish(c, s, distance(c, from, t.stride(d)));
}

TENON_INFER(squeeze) {
  using A = args::squeeze;
  const TensorImpl& t = c.tensor(A::self);
  Shape s;
  for (int d = 0; d < t.ndim(); ++d) {
    if (t.size(d) != 1) s.push(c, t.size(d), t.stride(d));
  }
  finish(c, s);
}

TENON_INFER(squeeze_dim) {
  using A = args::squeeze_dim;
  const TensorImpl& t = c.tensor(A::self);
  int gone = c.dim(c.integer(A::dim), t.ndim());
  Shape s;
  for (int d = 0; d < t.ndim(); ++d) {
    if (d != gone || t.size(d) != 1) s.push(c, t.size(d), t.stride(d));
  }
  finish(c, s);
}

TENON_INFER(squeeze_dims) {
  using A = args::squeeze_dims;
  const TensorImpl& t = c.tensor(A::self);
  uint64_t gone = 0;
  for (int64_t given : c.ints(A::dim)) {
    int d = c.dim(given, t.ndim());
    if (gone >> d & 1) fail<ValueError>(c, "dimension ", d, " appears twice in ", c.ints(A::dim));
    gone |= uint64_t{1} << d;
  }
  Shape s;
  for (int d = 0; d < t.ndim(); ++d) {
    if (!(gone >> d & 1) || t.size(d) != 1) s.push(c, t.size(d), t.stride(d));
  }
  finish(c, s);
}

TENON_INFER(unsqueeze) {
  using A = args::unsqueeze;
  const TensorImpl& t = c.tensor(A::self);
  int at = c.dim(c.integer(A::dim), t.ndim() + 1);
  Shape s;
  for (int d = 0; d <= t.ndim(); ++d) {
    // Unsigned: without elements it may wrap.
    const uint64_t whole =
        d < t.ndim() ? static_cast<uint64_t>(t.size(d)) * static_cast<uint64_t>(t.stride(d)) : 1;
    if (d == at) s.push(c, 1, static_cast<int64_t>(whole));
    if (d < t.ndim()) s.push(c, t.size(d), t.stride(d));
  }
  finish(c, s);
}

TENON_INFER(diagonal) {
  using A = args::diagonal;
  const TensorImpl& t = c.tensor(A::self);
  int64_t offset = c.integer(A::offset);
  int a = c.dim(c.integer(A::dim1), t.ndim()), b = c.dim(c.integer(A::dim2), t.ndim());
  if (a == b) fail<ValueError>(c, "dim1 and dim2 are both dimension ", a);
  Shape s;
  for (int d = 0; d < t.ndim(); ++d) {
    if (d != a && d != b) s.push(c, t.size(d), t.stride(d));
  }
  int64_t length = diagonal_length(t.size(a), t.size(b), offset);
  s.push(c, length, (Size(t.stride(a)) + t.stride(b)).get(c.op.name, "a stride"));
  const bool below = offset < 0;
  finish(c, s, length == 0 ? 0 : distance(c, below ? -offset : offset, t.stride(below ? a : b)));
}

TENON_INFER(unfold) {
  using A = args::unfold;
  const TensorImpl& t = c.tensor(A::self);
  int at = c.dim(c.integer(A::dimension), t.ndim());
  int64_t size = c.integer(A::size), step = c.integer(A::step);
  int64_t have = t.ndim() ? t.size(at) : 1;
  const int64_t positions = windows(c, have, at, size, step);
  Shape s;
  copy_dims(c, t, s);
  int64_t stride = t.ndim() ? t.stride(at) : 1;
  if (t.ndim()) {
    s.size[at] = positions;
    if (__builtin_mul_overflow(stride, step, &s.stride[at])) s.stride[at] = 0;
  }
  s.push(c, size, stride);
  check_numel(c, s);
  finish(c, s);
}

TENON_INFER(alias) {
  using A = args::alias;
  Shape s;
  copy_dims(c, c.tensor(A::self), s);
  finish(c, s);
}

// Operators with the signature (grad, input_sizes, ...): zeros of input_sizes, and grad where the
// view was.
namespace {

void backward_of_view(Infer& c, const Shape& view) {
  using A = args::diagonal_backward;
  if (c.tensor(A::grad_output).sizes() != view.sizes()) {
    fail<ValueError>(c, "a gradient of shape ", view.sizes(), " is expected, got ",
                     c.tensor(A::grad_output).sizes());
  }
  c.set(0, c.ints(A::input_sizes), c.tensor(A::grad_output).dtype);
}

Shape input_shape(Infer& c) {
  using A = args::diagonal_backward;
  Shape s;
  for (int64_t n : c.ints(A::input_sizes)) {
    if (n < 0)
      fail<ValueError>(c, c.arg(A::input_sizes), " has a negative size: ", c.ints(A::input_sizes));
    s.push(c, n, 0);
  }
  return s;
}

}  // namespace

TENON_INFER(select_backward) {
  using A = args::select_backward;
  Shape s = input_shape(c), view;
  int at = c.dim(c.integer(A::dim), s.n);
  if (s.n == 0) fail<IndexError>(c, "invalid index of a 0-dim tensor; use item()");
  wrapped_index(c, c.integer(A::index), s.size[at], at);
  for (int d = 0; d < s.n; ++d) {
    if (d != at) view.push(c, s.size[d], 0);
  }
  backward_of_view(c, view);
}

TENON_INFER(slice_backward) {
  using A = args::slice_backward;
  Shape view = input_shape(c);
  int d = c.dim(c.integer(A::dim), view.n);
  if (view.n == 0) fail<IndexError>(c, "a 0-dim tensor has no slices");
  int64_t from = c.integer(A::start);
  view.size[d] = slice_length(c, view.size[d], from, c.integer(A::end), c.integer(A::step));
  backward_of_view(c, view);
}

TENON_INFER(diagonal_backward) {
  using A = args::diagonal_backward;
  Shape s = input_shape(c), view;
  int a = c.dim(c.integer(A::dim1), s.n), b = c.dim(c.integer(A::dim2), s.n);
  if (a == b) fail<ValueError>(c, "dim1 and dim2 are both dimension ", a);
  for (int d = 0; d < s.n; ++d) {
    if (d != a && d != b) view.push(c, s.size[d], 0);
  }
  view.push(c, diagonal_length(s.size[a], s.size[b], c.integer(A::offset)), 0);
  backward_of_view(c, view);
}

TENON_INFER(unfold_backward) {
  using A = args::unfold_backward;
  Shape view = input_shape(c);
  int at = c.dim(c.integer(A::dim), view.n);
  int64_t size = c.integer(A::size),
          positions = windows(c, view.n ? view.size[at] : 1, at, size, c.integer(A::step));
  if (view.n) view.size[at] = positions;
  view.push(c, size, 0);
  backward_of_view(c, view);
}

}  // namespace tenon::core
