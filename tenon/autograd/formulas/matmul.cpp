// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"

namespace tenon::autograd::formulas {

Tensor scaled_sum_to(const Tensor& grad, const Scalar& factor, IntArrayRef sizes) {
  const Tensor g = scaled(grad, factor);
  return g.sizes() == sizes ? g : g.sum_to_size(sizes);
}

// relu's gradient follows from its result; gelu's needs the product, which is computed again rather than kept.
std::tuple<Tensor, Tensor, Tensor> addmm_activation_gradients(const Tensor& grad, const Tensor& result,
                                                              const Tensor& self, const Tensor& mat1,
                                                              const Tensor& mat2, const Scalar& beta,
                                                              const Scalar& alpha, bool use_gelu,
                                                              std::array<bool, 3> mask) {
  const Tensor g = use_gelu ? tenon::gelu_backward(grad, tenon::addmm(self, mat1, mat2, beta, alpha), "tanh")
                            : tenon::threshold_backward(grad, result, 0);
  return {mask[0] ? scaled_sum_to(g, beta, self.sizes()) : Tensor(), mask[1] ? scaled(g.mm(mat2.t()), alpha) : Tensor(),
          mask[2] ? scaled(mat1.t().mm(g), alpha) : Tensor()};
}

}  // namespace tenon::autograd::formulas
