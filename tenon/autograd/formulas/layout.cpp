// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/layout.h"

#include "tenon/autograd/formulas/pointwise.h"
#include "tenon/core/dispatch.h"
#include "tenon/core/layout.h"
#include "tenon/core/op.h"

namespace tenon::autograd::formulas {
namespace {

// Compares handles and offsets: device memory need not have addresses.
bool same_memory(const core::TensorImpl& x, const core::TensorImpl& y) {
  return x.view.data == y.view.data && x.view.byte_offset == y.view.byte_offset;
}

// Whether all components but the last, which has the values, are the same memory.
bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.layout() != b.layout() || a.sizes() != b.sizes()) return false;
  const auto &x = *a.unsafeGetTensorImpl()->components, &y = *b.unsafeGetTensorImpl()->components;
  for (int i = 0; i + 1 < x.n; ++i) {
    const Tensor p(core::Impl::share(x.impl[i])), q(core::Impl::share(y.impl[i]));
    if (p.sizes() != q.sizes() || !same_memory(*x.impl[i], *y.impl[i])) return false;
  }
  return true;
}

}  // namespace

Tensor at_elements_of(const Tensor& grad, const Tensor& like) {
  static const core::Op& op = core::get_op("_at_elements_of");
  if (!core::layout_serves(static_cast<int>(like.layout()), op)) return grad;
  return same_elements(grad, like) ? grad : _at_elements_of(grad, like);
}

Tensor leaf_gradient(const Tensor& grad, const Tensor& leaf) {
  static const core::Op& sums = core::get_op("_coalesce");
  if (grad.layout() == kStrided) return at_elements_of(grad, leaf);
  return core::layout_serves(static_cast<int>(grad.layout()), sums) ? grad.coalesce() : grad;
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  static const core::Op &values = core::get_op("_with_values"), &sums = core::get_op("_coalesce");
  const int layout = static_cast<int>(a.layout());
  if (layout == 0 || a.layout() != b.layout()) return a + b;
  if (!GradMode::is_enabled() && core::layout_serves(layout, values) && same_elements(a, b))
    return _with_values(a, a._values() + b._values());
  const bool once = core::layout_serves(layout, sums) && a.is_coalesced() && b.is_coalesced();
  return once ? (a + b).coalesce() : a + b;
}

Tensor at_elements(const Tensor& grad, const SavedGeometry& of) {
  return of.layout() == kStrided || !grad.defined() ? grad : at_elements_of(grad, of.pattern());
}

Tensor laid_out(const Tensor& grad, const SavedGeometry& of) {
  return of.layout() == kStrided ? grad.to_dense() : at_elements(grad, of);
}

Tensor to_dense_backward(const Tensor& grad, const SavedGeometry& of, std::optional<bool> masked) {
  const Tensor g = grad.scalar_type() == of.scalar_type() ? grad : grad.to(of.scalar_type());
  return masked.value_or(true) ? at_elements(g, of) : g.to(of.options());
}

Tensor moved_backward(const Tensor& grad, const SavedGeometry& of,
                      FunctionRef<Tensor(const Tensor&)> move) {
  const Tensor self = of.pattern().coalesce(), values = self._values();
  const int64_t n = values.numel();
  const TensorOptions long_options = TensorOptions(kLong).device(values.device());
  const Tensor moved =
      move(_with_values(self, arange(1, n + 1, long_options).reshape(values.sizes())));
  const bool strided = moved.layout() == kStrided;
  // In a strided result, 0 marks the elements that no element of self went to.
  const Tensor from = strided ? moved.reshape({-1}) : moved._values().reshape({-1});
  const Tensor g = strided ? grad.to_dense() : _values_at(grad, moved._indices());
  const Tensor sums = zeros({n + 1}, TensorOptions(grad.scalar_type()).device(grad.device()));
  return _with_values(self,
                      sums.index_add(0, from, g.reshape({-1})).slice(0, 1).reshape(values.sizes()));
}

Tensor product_backward(const Tensor& grad, const Tensor& other, const SavedGeometry& of) {
  const Tensor g = grad * conjugated(other);
  return of.layout() == kStrided && of.dim() > 0 && other.layout() != kStrided ? g.to_dense() : g;
}

}  // namespace tenon::autograd::formulas
