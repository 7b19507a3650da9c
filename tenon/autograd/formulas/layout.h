// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of tensors with a layout of their own. What such a tensor does not hold is no variable: its gradient has
// the tensor's layout and elements at most where the tensor has some, so that nothing of the full shape is ever made.
#pragma once

#include "tenon/autograd/saved.h"
#include "tenon/function_ref.h"
#include "tenon/ops.h"

namespace tenon::autograd::formulas {

// A gradient at the elements of its tensor, in its layout. As it is for a strided tensor, and for one whose layout has
// no kernel for that.
Tensor at_elements(const Tensor& grad, const SavedGeometry& of);
Tensor at_elements_of(const Tensor& grad, const Tensor& like);
// What a leaf with a layout of its own keeps: in its layout, each element once.
Tensor leaf_gradient(const Tensor& grad, const Tensor& leaf);
// The sum of two gradients of a tensor. Of a layout's it has each element once if both have.
Tensor sum_of(const Tensor& a, const Tensor& b);
// The same as at_elements, and strided for a strided tensor.
Tensor laid_out(const Tensor& grad, const SavedGeometry& of);
// Unless it is masked, the gradient has the elements that are not 0.
Tensor to_dense_backward(const Tensor& grad, const SavedGeometry& of, std::optional<bool> masked);
// Of an op that puts elements elsewhere, or leaves some out: it is done once more with their numbers.
Tensor moved_backward(const Tensor& grad, const SavedGeometry& of, FunctionRef<Tensor(const Tensor&)> move);
// Of a factor; of a strided one that was multiplied by the elements of another layout, it is strided.
Tensor product_backward(const Tensor& grad, const Tensor& other, const SavedGeometry& of);

}  // namespace tenon::autograd::formulas
