// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"
#include "tenon/ops/activation.h"

namespace tenon::autograd::formulas {

Tensor mm_self_backward(const Tensor& grad, const SavedGeometry& of, const Tensor& mat2) {
  if (of.layout() == kStrided) return grad.mm(conjugated(mat2.t()));
  if (mat2.layout() != kStrided) return at_elements(grad.mm(mat2.t()), of);
  return _masked_mm(of.pattern(), grad.to_dense(), mat2.t());
}

Tensor mm_mat2_backward(const Tensor& grad, const Tensor& self, const SavedGeometry& of) {
  if (of.layout() == kStrided) return conjugated(self.t()).mm(grad);
  if (self.layout() != kStrided) return at_elements(self.t().mm(grad), of);
  return _masked_mm(of.pattern(), self.t(), grad.to_dense());
}

Tensor mv_self_backward(const Tensor& grad, const SavedGeometry& of, const Tensor& vec) {
  if (of.layout() == kStrided) return grad.unsqueeze(1) * conjugated(vec);
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

std::tuple<Tensor, Tensor, Tensor, Tensor> linear_epilogue_gradients(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<Tensor>& bias, const std::optional<Tensor>& other,
    std::string_view activation, ArrayRef<double> parameters, std::array<bool, 4> mask) {
  const bool add = other && other->defined(), with_bias = bias && bias->defined();
  Tensor sum = tenon::linear(input, weight, bias);
  if (add) sum = sum + *other;
  const Tensor g = activation_gradient(grad, sum, activation, parameters);
  const Tensor rows = g.reshape({-1, weight.size(0)});
  return {mask[0] ? tenon::matmul(g, weight) : Tensor(),
          mask[1] ? rows.t().mm(input.reshape({-1, weight.size(1)})) : Tensor(),
          mask[2] && with_bias ? rows.sum(0) : Tensor(), mask[3] && add ? g : Tensor()};
}

}  // namespace tenon::autograd::formulas
