// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of views and padding for devices without kernels of their own for them.
#include <algorithm>
#include <vector>

#include "tenon/ops/composite.gen.h"

namespace tenon::decomp {
namespace {

Tensor make_zeros(const Tensor& grad, IntArrayRef sizes) {
  return zeros(sizes, grad.options().requires_grad(std::nullopt));
}

}  // namespace

Tensor select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index) {
  Tensor out = make_zeros(grad, sizes);
  out.select(dim, index).copy_(grad);
  return out;
}
Tensor slice_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t start,
                      int64_t end, int64_t step) {
  Tensor out = make_zeros(grad, sizes);
  out.slice(dim, start, end, step).copy_(grad);
  return out;
}
Tensor diagonal_backward(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1,
                         int64_t dim2) {
  Tensor out = make_zeros(grad, sizes);
  out.diagonal(offset, dim1, dim2).copy_(grad);
  return out;
}

Tensor unfold_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t size,
                       int64_t step) {
  Tensor out = make_zeros(grad, sizes);
  if (sizes.empty()) return size > 0 ? out.add_(grad.reshape(IntArrayRef())) : out;
  int64_t d = dim < 0 ? dim + out.dim() : dim, n = grad.size(d);
  for (int64_t w = 0; w < size && n > 0; ++w) {
    out.slice(d, w, w + (n - 1) * step + 1, step).add_(grad.select(-1, w));
  }
  return out;
}

Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  std::vector<int64_t> sizes = self.sizes().vec();
  Tensor from = self;
  std::size_t n = pad.size() / 2;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t d = sizes.size() - 1 - k;
    sizes[d] += pad[2 * k] + pad[2 * k + 1];
  }
  Tensor out = full(sizes, value, self.options().requires_grad(std::nullopt)), to = out;
  for (std::size_t k = 0; k < n; ++k) {
    int64_t d = self.dim() - 1 - static_cast<int64_t>(k), size = self.size(d);
    int64_t before = pad[2 * k],
            kept = std::max<int64_t>(
                0, size + std::min<int64_t>(before, 0) + std::min<int64_t>(pad[2 * k + 1], 0));
    int64_t at = std::max<int64_t>(before, 0), skip = std::min(std::max<int64_t>(-before, 0), size);
    to = to.slice(d, at, at + kept, 1);
    from = from.slice(d, skip, skip + kept, 1);
  }
  to.copy_(from);
  return out;
}

}  // namespace tenon::decomp
