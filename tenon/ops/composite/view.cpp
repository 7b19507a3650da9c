// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Views composed of other views.
#include <algorithm>
#include <vector>

#include "tenon/batching/level.h"
#include "tenon/core/infer.h"
#include "tenon/core/sizes.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

int64_t size_of(const Tensor& t, int64_t d) { return t.dim() ? t.size(d) : 1; }

// The product of all but the entry `at`, which may be -1 for none.
core::Size product_without(std::vector<int64_t> sizes, int64_t at) {
  if (at >= 0) sizes[static_cast<std::size_t>(at)] = 1;
  return core::product(sizes.data(), static_cast<int64_t>(sizes.size()));
}

int64_t first_unknown(const std::vector<int64_t>& sizes) {
  const auto at = std::find(sizes.begin(), sizes.end(), -1);
  return at == sizes.end() ? -1 : at - sizes.begin();
}

// Fills in -1; what else is wrong with the shape is view's to say.
std::vector<int64_t> without_unknown(const Tensor& self, IntArrayRef shape) {
  std::vector<int64_t> out = shape.vec();
  const int64_t at = first_unknown(out);
  const core::Size product = product_without(out, at);
  const int64_t known = product.fits() ? product.get("reshape", "the shape") : 0;
  if (at >= 0 && known > 0) out[static_cast<std::size_t>(at)] = self.numel() / known;
  return out;
}

// conj, real and the like of a real tensor.
const Tensor& require_defined(const char* op, const Tensor& self) {
  TENON_CHECK(self.defined(), TypeError, op,
              ": expected a tensor but argument 'self' is undefined");
  return self;
}

}  // namespace

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  if (self.is_contiguous() || self.layout() != kStrided) return self.view(shape);
  std::vector<int64_t> full = without_unknown(self, shape);
  int64_t strides[core::kMaxDims];
  const core::Size numel = core::product(full.data(), static_cast<int64_t>(full.size()));
  if (!numel.fits() || numel.get("reshape", "the shape") != self.numel() ||
      full.size() > static_cast<std::size_t>(core::kMaxDims) ||
      core::view_strides(*self.unsafeGetTensorImpl(), full, strides)) {
    return self.view(shape);
  }
  return self.clone(MemoryFormat::Contiguous).view(full);
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  TENON_CHECK(self.dim() > 0, ValueError, "narrow: cannot narrow a 0-dim tensor");
  dim = wrap("narrow", dim, self.dim());
  int64_t size = self.size(dim);
  TENON_CHECK(length >= 0, ValueError, "narrow: length is ", length, " but must not be negative");
  TENON_CHECK(start >= -size && start <= size, IndexError, "narrow: start ", start,
              " is out of bounds for dimension ", dim, " of size ", size);
  if (start < 0) start += size;
  TENON_CHECK(start <= size - length, ValueError, "narrow: start ", start, " and length ", length,
              " exceed dimension ", dim, " of size ", size);
  return self.slice(dim, start, start + length, 1);
}

Tensor narrow_Tensor(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
  TENON_CHECK(start.dim() == 0 && isIntegralType(start.scalar_type()), ValueError,
              "narrow: argument 'start' must be a 0-dim integer tensor");
  return self.narrow(dim, start.item().toLong(), length);
}

Tensor flatten_using_ints(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  start_dim = wrap("flatten", start_dim, self.dim());
  end_dim = wrap("flatten", end_dim, self.dim());
  TENON_CHECK(start_dim <= end_dim, ValueError, "flatten: start_dim ", start_dim,
              " comes after end_dim ", end_dim);
  if (self.dim() == 0) return self.reshape({1});
  if (start_dim == end_dim) return self;
  std::vector<int64_t> shape;
  const int64_t joined = core::product(self.sizes().data() + start_dim, end_dim - start_dim + 1)
                             .get("flatten", "the product of the sizes");
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d < start_dim || d > end_dim) shape.push_back(self.size(d));
    if (d == end_dim) shape.push_back(joined);
  }
  return self.reshape(shape);
}

Tensor unflatten_int(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  dim = wrap("unflatten", dim, self.dim());
  TENON_CHECK(!sizes.empty(), ValueError, "unflatten: argument 'sizes' must not be empty");
  const int64_t size = size_of(self, dim);
  std::vector<int64_t> parts = sizes.vec();
  const int64_t unknown = first_unknown(parts);
  int64_t known =
      product_without(parts, unknown).get("unflatten", "the product of argument 'sizes'");
  if (unknown >= 0 && known > 0 && size % known == 0) {
    parts[static_cast<std::size_t>(unknown)] = size / known;
    known = size;
  }
  TENON_CHECK(known == size, ValueError, "unflatten: sizes ", sizes, " do not multiply up to ",
              size, ", the size of dimension ", dim);
  std::vector<int64_t> shape;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d == dim)
      shape.insert(shape.end(), parts.begin(), parts.end());
    else
      shape.push_back(self.size(d));
  }
  if (self.dim() == 0) shape = parts;
  return self.view(shape);
}

Tensor ravel(const Tensor& self) { return self.reshape({-1}); }
Tensor view_as(const Tensor& self, const Tensor& other) { return self.view(other.sizes()); }
Tensor reshape_as(const Tensor& self, const Tensor& other) { return self.reshape(other.sizes()); }
Tensor expand_as(const Tensor& self, const Tensor& other) { return self.expand(other.sizes()); }
Tensor broadcast_to(const Tensor& self, IntArrayRef size) { return self.expand(size); }

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  std::vector<int64_t> shape;
  for (const Tensor& t : tensors) {
    while (static_cast<int64_t>(shape.size()) < t.dim()) shape.insert(shape.begin(), 1);
    for (int64_t d = 0; d < t.dim(); ++d) {
      int64_t& s = shape[shape.size() - static_cast<std::size_t>(t.dim() - d)];
      TENON_CHECK(t.size(d) == 1 || s == 1 || s == t.size(d), ValueError,
                  "broadcast_tensors: size ", s, " of a does not match size ", t.size(d),
                  " of b at dimension ", d, " (", tensors[0].sizes(), ", ", t.sizes(), ")");
      if (t.size(d) != 1) s = t.size(d);
    }
  }
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.expand(shape));
  return out;
}

Tensor movedim_intlist(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  TENON_CHECK(source.size() == destination.size(), ValueError, "movedim: source ", source,
              " and destination ", destination, " differ in length");
  std::vector<int64_t> order(static_cast<std::size_t>(self.dim()), -1);
  std::vector<bool> moved(order.size(), false);
  if (self.dim() == 0) return self.alias();
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::size_t from = static_cast<std::size_t>(wrap("movedim", source[i], self.dim()));
    std::size_t to = static_cast<std::size_t>(wrap("movedim", destination[i], self.dim()));
    TENON_CHECK(!moved[from] && order[to] < 0, ValueError, "movedim: a dimension appears twice in ",
                source, " or ", destination);
    moved[from] = true;
    order[to] = static_cast<int64_t>(from);
  }
  std::size_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (moved[next]) ++next;
    d = static_cast<int64_t>(next++);
  }
  return self.permute(order);
}
Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination) {
  return self.movedim(IntArrayRef(source), IntArrayRef(destination));
}
Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) {
  return self.transpose(axis0, axis1);
}
Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1) {
  return self.transpose(dim0, dim1);
}

Tensor mT(const Tensor& self) {
  TENON_CHECK(self.dim() >= 2, ValueError, "mT: expected at least 2 dimensions, got ", self.dim());
  return self.transpose(-2, -1);
}
Tensor mH(const Tensor& self) {
  TENON_CHECK(self.dim() >= 2 || self.dim() == 0, ValueError,
              "mH: expected at least 2 dimensions, got ", self.dim());
  return tenon::conj(self.dim() == 0 ? self : self.transpose(-2, -1));
}
Tensor conj(const Tensor& self) {
  return require_defined("conj", self).is_complex() ? tenon::conj_physical(self) : self;
}
Tensor real(const Tensor& self) {
  return require_defined("real", self).is_complex() ? tenon::view_as_real(self).select(-1, 0)
                                                    : self;
}
Tensor imag(const Tensor& self) {
  TENON_CHECK(require_defined("imag", self).is_complex(), NotImplementedError,
              "imag is not implemented for tensors with non-complex dtypes.");
  return tenon::view_as_real(self).select(-1, 1);
}
Tensor resolve_conj(const Tensor& self) { return require_defined("resolve_conj", self); }
Tensor resolve_neg(const Tensor& self) { return require_defined("resolve_neg", self); }

Tensor sum_to_size(const Tensor& self, IntArrayRef size) {
  // To no dimensions it is sum, which makes integers int64.
  if (size.empty()) return self.dim() == 0 && self.is_floating_point() ? self : self.sum();
  if (self.sizes() == size) return self;
  int64_t lead = self.dim() - static_cast<int64_t>(size.size());
  TENON_CHECK(lead >= 0, ValueError, "sum_to_size: shape ", size, " has more dimensions than ",
              self.sizes());
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    bool repeated = d >= lead && size[static_cast<std::size_t>(d - lead)] == 1 && self.size(d) != 1;
    TENON_CHECK(d < lead || repeated || size[static_cast<std::size_t>(d - lead)] == self.size(d),
                ValueError, "sum_to_size: shape ", self.sizes(),
                " does not come from broadcasting ", size);
    if (d < lead || repeated) dims.push_back(d);
  }
  Tensor sum = dims.empty() ? self : self.sum(IntArrayRef(dims), true);
  return lead > 0 ? sum.view(size) : sum;
}

Tensor atleast_1d(const Tensor& self) { return self.dim() == 0 ? self.reshape({1}) : self; }
Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return self.reshape({1, 1});
  return self.dim() == 1 ? self.unsqueeze(0) : self;
}
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return self.reshape({1, 1, 1});
  if (self.dim() == 1) return self.unsqueeze(0).unsqueeze(-1);
  return self.dim() == 2 ? self.unsqueeze(-1) : self;
}

Tensor alias_copy(const Tensor& self) { return self.clone(); }
Tensor as_strided_copy(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                       std::optional<int64_t> offset) {
  return self.as_strided(size, stride, offset).clone(MemoryFormat::Contiguous);
}
Tensor diagonal_copy(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  return self.diagonal(offset, dim1, dim2).clone(MemoryFormat::Contiguous);
}
Tensor expand_copy(const Tensor& self, IntArrayRef size, bool) {
  return self.expand(size).clone(MemoryFormat::Contiguous);
}
Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return self.narrow(dim, start, length).clone(MemoryFormat::Contiguous);
}
Tensor permute_copy(const Tensor& self, IntArrayRef dims) {
  return self.permute(dims).clone(MemoryFormat::Contiguous);
}
Tensor squeeze_copy(const Tensor& self) { return self.squeeze().clone(MemoryFormat::Contiguous); }
Tensor squeeze_copy_dim(const Tensor& self, int64_t dim) {
  return self.squeeze(dim).clone(MemoryFormat::Contiguous);
}
Tensor t_copy(const Tensor& self) { return self.t().clone(MemoryFormat::Contiguous); }
Tensor transpose_copy_int(const Tensor& self, int64_t dim0, int64_t dim1) {
  return self.transpose(dim0, dim1).clone(MemoryFormat::Contiguous);
}
Tensor unfold_copy(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  return self.unfold(dimension, size, step).clone(MemoryFormat::Contiguous);
}
Tensor unsqueeze_copy(const Tensor& self, int64_t dim) {
  return self.unsqueeze(dim).clone(MemoryFormat::Contiguous);
}
Tensor view_copy(const Tensor& self, IntArrayRef size) {
  return self.clone(MemoryFormat::Contiguous).view(size);
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  Tensor out = batching::writable_for(self.clone(MemoryFormat::Contiguous), src);
  Tensor part = out.diagonal(offset, dim1, dim2);
  TENON_CHECK(part.sizes() == src.sizes(), ValueError,
              "diagonal_scatter: argument 'src' must have shape ", part.sizes(), ", got ",
              src.sizes());
  part.copy_(src);
  return out;
}
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  Tensor out = batching::writable_for(self.clone(MemoryFormat::Contiguous), src);
  Tensor part = out.select(dim, index);
  TENON_CHECK(part.sizes() == src.sizes(), ValueError,
              "select_scatter: argument 'src' must have shape ", part.sizes(), ", got ",
              src.sizes());
  part.copy_(src);
  return out;
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  Tensor out = batching::writable_for(self.clone(MemoryFormat::Contiguous), src);
  Tensor part = out.slice(dim, start, end, step);
  TENON_CHECK(part.sizes() == src.sizes(), ValueError,
              "slice_scatter: argument 'src' must have shape ", part.sizes(), ", got ",
              src.sizes());
  part.copy_(src);
  return out;
}

}  // namespace tenon::composite
