// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of distances. Where a distance is zero, so is its gradient.
#include <cmath>

#include "tenon/autograd/formulas/factor.h"
#include "tenon/ops/matrices.h"

namespace tenon::autograd::formulas {
namespace {

// Of the p-norm over the last dimension by the elements of `d`; `norm` and `grad` have a last
// dimension of size 1. Of the infinity norm every largest element gets the whole gradient.
Tensor norm_gradient(const Tensor& grad, const Tensor& d, double p, const Tensor& norm) {
  if (p == 0) return tenon::zeros_like(d);
  if (p == 1) return grad * d.sign();
  if (std::isinf(p)) return grad * d.sign() * (d.abs() == norm).to(d.scalar_type());
  const Tensor zero = norm == 0, safe = tenon::where(zero, tenon::ones_like(norm), norm);
  if (p == 2) return tenon::where(zero, tenon::zeros_like(d), grad * d / safe);
  Tensor size = d.abs();
  // The power of zero has no derivative below 2.
  const Tensor none = size == 0;
  size = tenon::where(none, tenon::ones_like(size), size);
  const Tensor powers = d.sign() * size.pow(p - 1) / safe.pow(p - 1);
  return tenon::where(zero, tenon::zeros_like(d), grad * powers);
}

}  // namespace

TwoGradients cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                            const Tensor& result, std::array<bool, 2> mask) {
  if (!grad.defined()) return {};
  const Tensor d = x1.unsqueeze(-2) - x2.unsqueeze(-3);
  const Tensor g = norm_gradient(grad.unsqueeze(-1), d, p, result.unsqueeze(-1));
  return {mask[0] ? g.sum(-2) : Tensor(), mask[1] ? -g.sum(-3) : Tensor()};
}

Tensor pdist_backward(const Tensor& grad, const Tensor& x, double p, const Tensor& result) {
  if (!grad.defined()) return {};
  const int64_t n = x.size(0);
  const Tensor pairs =
      tenon::triu_indices(n, n, 1, TensorOptions().dtype(kLong).device(x.device()));
  const Tensor first = pairs.select(0, 0), second = pairs.select(0, 1);
  const Tensor d = x.index_select(0, first) - x.index_select(0, second);
  const Tensor g = norm_gradient(grad.unsqueeze(-1), d, p, result.unsqueeze(-1));
  return tenon::zeros_like(x).index_add(0, first, g).index_add(0, second, -g);
}

}  // namespace tenon::autograd::formulas
