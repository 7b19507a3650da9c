// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/indexing.h"

#include <algorithm>

#include "tenon/autograd/formulas/layout.h"
#include "tenon/batching/level.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::formulas {
namespace {

Tensor make_zeros(const Tensor& grad, IntArrayRef sizes) {
  return zeros(sizes, grad.options().requires_grad(std::nullopt));
}
// To write grad to, at indices.
Tensor make_target(const Tensor& grad, IntArrayRef sizes, TensorList indices) {
  std::vector<Tensor> sources = indices.vec();
  sources.push_back(grad);
  return batching::writable_for(make_zeros(grad, sizes), sources);
}

std::vector<std::optional<Tensor>> optional_list(const std::vector<Tensor>& list) {
  std::vector<std::optional<Tensor>> out;
  out.reserve(list.size());
  for (const Tensor& t : list) out.push_back(t.defined() ? std::optional<Tensor>(t) : std::nullopt);
  return out;
}

// Zeros at the ends of dimensions, up to a larger shape.
Tensor pad_to(const Tensor& t, IntArrayRef sizes) {
  if (t.sizes() == sizes) return t;
  std::vector<int64_t> pad;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    pad.push_back(0);
    pad.push_back(sizes[d] - t.size(static_cast<int64_t>(d)));
  }
  return t.constant_pad_nd(pad, 0);
}

}  // namespace

Tensor masked_fill_value_backward(const Tensor& grad, const Tensor& mask) {
  return grad.masked_fill(mask.logical_not(), 0).sum();
}

Tensor index_backward(const Tensor& grad, IntArrayRef sizes, const TensorOptions&,
                      const std::vector<Tensor>& indices) {
  auto at = optional_list(indices);
  return make_target(grad, sizes, indices).index_put_(OptTensors(at), grad, true);
}
Tensor index_put_self_backward(const Tensor& grad, const std::vector<Tensor>& indices) {
  auto at = optional_list(indices);
  return grad.index_put(OptTensors(at), make_zeros(grad, {}), false);
}
Tensor index_put_values_backward(const Tensor& grad, const std::vector<Tensor>& indices,
                                 IntArrayRef sizes) {
  auto at = optional_list(indices);
  Tensor gathered = grad.index(OptTensors(at));
  return gathered.dim() < static_cast<int64_t>(sizes.size()) ? gathered.reshape(sizes)
                                                             : gathered.sum_to_size(sizes);
}

Tensor index_select_backward(const Tensor& grad, const SavedGeometry& of, int64_t dim,
                             const Tensor& index) {
  if (of.layout() != kStrided)
    return moved_backward(grad, of, [&](const Tensor& t) { return t.index_select(dim, index); });
  return make_target(grad, of.sizes(), index).index_add_(dim, index, grad);
}
Tensor index_add_source_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                                 IntArrayRef sizes, const Scalar& alpha) {
  Tensor gathered = grad.index_select(dim, index).reshape(sizes);
  return alpha.equal(1) ? gathered : gathered * alpha;
}

Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index) {
  if (index.numel() == 0) return make_zeros(grad, sizes);
  return make_target(grad, sizes, index).scatter_add_(dim, index, grad);
}
Tensor scatter_src_backward(const Tensor& grad, int64_t dim, const Tensor& index,
                            IntArrayRef sizes) {
  if (index.numel() == 0) return make_zeros(grad, sizes);
  Tensor gathered = grad.gather(dim, index);
  return gathered.dim() == static_cast<int64_t>(sizes.size()) ? pad_to(gathered, sizes)
                                                              : gathered.reshape(sizes);
}

Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask) {
  std::vector<Tensor> both = broadcast_tensors({make_zeros(grad, sizes), mask});
  return both[0].masked_scatter(both[1], grad).sum_to_size(sizes);
}
Tensor masked_scatter_self_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask) {
  return grad.masked_fill(mask, 0).sum_to_size(sizes);
}
Tensor masked_scatter_source_backward(const Tensor& grad, const Tensor& mask, IntArrayRef sizes) {
  Tensor gathered = grad.masked_select(mask.expand_as(grad));
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return pad_to(gathered, IntArrayRef(n)).reshape(sizes);
}

std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<SavedGeometry>& parts,
                                 int64_t dim) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const SavedGeometry& p : parts) {
    if (p.dim() == 1 && p.numel() == 0) {
      out.push_back(zeros({0}, p.options()));
      continue;
    }
    int64_t d = dim < 0 ? dim + grad.dim() : dim, n = p.size(d);
    Tensor piece = grad.slice(d, at, at + n, 1);
    out.push_back(
        at_elements(p.scalar_type() == grad.scalar_type() ? piece : piece.to(p.scalar_type()), p));
    at += n;
  }
  return out;
}

Tensor pick_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes) {
  return make_target(grad, sizes, indices).scatter_(dim, indices, grad);
}
Tensor pick_reduced_backward(const Tensor& grad, int64_t dim, const Tensor& indices,
                             IntArrayRef sizes, bool keepdim) {
  if (keepdim || sizes.empty()) return pick_backward(grad, dim, indices, sizes);
  return pick_backward(grad.unsqueeze(dim), dim, indices.unsqueeze(dim), sizes);
}

}  // namespace tenon::autograd::formulas
