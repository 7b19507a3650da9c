// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of tensors with a layout of their own. Elements that such a tensor does not hold are
// not variables: its gradient has its layout and at most its elements, so that nothing of the full
// shape is allocated.
#pragma once

#include "tenon/autograd/saved.h"
#include "tenon/function_ref.h"
#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// A gradient at the elements of its tensor, in its layout. Unchanged for a strided tensor, and for
// one whose layout has no kernel for it.
Tensor at_elements(const Tensor& grad, const SavedGeometry& of);
Tensor at_elements_of(const Tensor& grad, const Tensor& like);
// The gradient that a leaf stores: in the leaf's layout, coalesced.
Tensor leaf_gradient(const Tensor& grad, const Tensor& leaf);
// The sum of two gradients of a tensor; coalesced if both are.
Tensor sum_of(const Tensor& a, const Tensor& b);
// The same as at_elements, and strided for a strided tensor.
Tensor laid_out(const Tensor& grad, const SavedGeometry& of);
// Unless it is masked, the gradient has the elements that are not 0.
Tensor to_dense_backward(const Tensor& grad, const SavedGeometry& of, std::optional<bool> masked);
// Of an operator that moves or drops elements: it is applied again to the indices of the elements.
Tensor moved_backward(const Tensor& grad, const SavedGeometry& of,
                      FunctionRef<Tensor(const Tensor&)> move);
// Of a factor; of a strided one that was multiplied by the elements of another layout, it is
// strided.
Tensor product_backward(const Tensor& grad, const Tensor& other, const SavedGeometry& of);

}  // namespace tenon::autograd::formulas
