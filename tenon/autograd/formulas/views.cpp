// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of views and copies.
#include <algorithm>

#include "tenon/autograd/formulas/indexing.h"
#include "tenon/autograd/formulas/layout.h"

namespace tenon::autograd::formulas {

Tensor copy_backward(const Tensor& grad, IntArrayRef sizes, const TensorOptions& options) {
  return grad.sum_to_size(sizes).to(options.dtype(options.dtype()));
}

Tensor permute_backward(const Tensor& grad, IntArrayRef dims) {
  std::vector<int64_t> back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    back[static_cast<std::size_t>(dims[i] < 0 ? dims[i] + static_cast<int64_t>(dims.size())
                                              : dims[i])] = static_cast<int64_t>(i);
  }
  return grad.permute(back);
}

Tensor slice_grad(const Tensor& grad, const SavedGeometry& of, int64_t dim,
                  std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  if (of.layout() != kStrided)
    return moved_backward(grad, of,
                          [&](const Tensor& t) { return t.slice(dim, start, end, step); });
  return slice_backward(grad, of.sizes(), dim, start.value_or(0), end.value_or(of.size(dim)), step);
}

Tensor select_grad(const Tensor& grad, const SavedGeometry& of, int64_t dim, int64_t index) {
  if (of.layout() != kStrided)
    return moved_backward(grad, of, [&](const Tensor& t) { return t.select(dim, index); });
  return select_backward(grad, of.sizes(), dim, index);
}

Tensor unsqueeze_backward(const Tensor& grad, int64_t dim) {
  return grad.layout() == kStrided ? grad.squeeze(dim) : grad.select(dim, 0);
}

Tensor constant_pad_backward(const Tensor& grad, IntArrayRef pad) {
  std::vector<int64_t> back;
  for (int64_t p : pad) back.push_back(-p);
  return grad.constant_pad_nd(back, 0);
}

namespace {

// Elements from the start of a storage to after the last one that a geometry reaches.
int64_t storage_end(IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  const int64_t n = core::extent(sizes, strides);
  return n == 0 ? 0 : offset + n;
}

}  // namespace

// Writes the gradient of the view into a flat storage and reads self's geometry from it. Elements
// of self that share memory share the gradient of that memory.
Tensor as_strided_backward(const Tensor& grad, const TensorOptions&, IntArrayRef sizes,
                           IntArrayRef strides, int64_t offset, IntArrayRef view_size,
                           IntArrayRef view_stride, std::optional<int64_t> view_offset) {
  int64_t at = view_offset.value_or(offset);
  int64_t n =
      std::max(storage_end(sizes, strides, offset), storage_end(view_size, view_stride, at));
  TensorOptions index_options = TensorOptions(kLong).device(grad.device());
  Tensor storage = zeros({n}, grad.options().requires_grad(std::nullopt));
  if (grad.numel() > 0) {
    Tensor where = arange(n, index_options).as_strided(view_size, view_stride, at).reshape({-1});
    storage = storage.index_add(0, where, grad.reshape({-1}));
  }
  if (core::may_overlap_itself(sizes, strides)) {
    Tensor where = arange(n, index_options).as_strided(sizes, strides, offset).reshape({-1});
    const TensorOptions counts =
        storage.options().requires_grad(std::nullopt).dtype(toRealValueType(grad.scalar_type()));
    Tensor count = zeros({n}, counts).index_add_(0, where, ones({where.numel()}, counts));
    storage = storage / count.clamp_min(1);
  }
  return storage.as_strided(sizes, strides, offset);
}

}  // namespace tenon::autograd::formulas
