// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {

Tensor mm_self_backward(const Tensor& grad, const SavedGeometry& of, const Tensor& mat2) {
  if (of.layout() == kStrided) return grad.mm(mat2.t());
  if (mat2.layout() != kStrided) return at_elements(grad.mm(mat2.t()), of);
  return _masked_mm(of.pattern(), grad.to_dense(), mat2.t());
}

Tensor mm_mat2_backward(const Tensor& grad, const Tensor& self, const SavedGeometry& of) {
  if (of.layout() == kStrided) return self.t().mm(grad);
  if (self.layout() != kStrided) return at_elements(self.t().mm(grad), of);
  return _masked_mm(of.pattern(), self.t(), grad.to_dense());
}

Tensor mv_self_backward(const Tensor& grad, const SavedGeometry& of, const Tensor& vec) {
  if (of.layout() == kStrided) return grad.unsqueeze(1) * vec;
  return _masked_mm(of.pattern(), grad.unsqueeze(1), vec.unsqueeze(0));
}

Tensor scaled_sum_to(const Tensor& grad, const Scalar& factor, IntArrayRef sizes) {
  const Tensor g = scaled(grad, factor);
  return g.sizes() == sizes ? g : g.sum_to_size(sizes);
}

// relu's gradient follows from its result; gelu's needs the product, which is computed again rather
// than kept.
std::tuple<Tensor, Tensor, Tensor> addmm_activation_gradients(
    const Tensor& grad, const Tensor& result, const Tensor& self, const Tensor& mat1,
    const Tensor& mat2, const Scalar& beta, const Scalar& alpha, bool use_gelu,
    std::array<bool, 3> mask) {
  const Tensor g =
      use_gelu ? tenon::gelu_backward(grad, tenon::addmm(self, mat1, mat2, beta, alpha), "tanh")
               : tenon::threshold_backward(grad, result, 0);
  return {mask[0] ? scaled_sum_to(g, beta, self.sizes()) : Tensor(),
          mask[1] ? scaled(g.mm(mat2.t()), alpha) : Tensor(),
          mask[2] ? scaled(mat1.t().mm(g), alpha) : Tensor()};
}

}  // namespace tenon::autograd::formulas
