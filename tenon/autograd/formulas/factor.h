// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of factorizations, as products of matrices and solutions of equations: they can be
// differentiated again. A^H is the conjugate transpose. Gradients that are not given are undefined.
#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "tenon/autograd/saved.h"
#include "tenon/ops.h"

namespace tenon::autograd::formulas {

using TwoGradients = std::tuple<Tensor, Tensor>;
using ThreeGradients = std::tuple<Tensor, Tensor, Tensor>;

Tensor lu_factor_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots);
Tensor cholesky_backward(const Tensor& grad, const Tensor& L, bool upper);
Tensor inverse_backward(const Tensor& grad, const Tensor& inverse);
Tensor eigh_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors);
Tensor eig_backward(const Tensor& grad_values, const Tensor& grad_vectors, ScalarType dtype,
                    const Tensor& values, const Tensor& vectors);
Tensor svd_backward(const Tensor& grad_U, const Tensor& grad_S, const Tensor& grad_Vh,
                    IntArrayRef sizes, const Tensor& U, const Tensor& S, const Tensor& Vh);
TwoGradients lstsq_backward(const Tensor& grad_solution, const Tensor& grad_residuals,
                            const Tensor& a, const Tensor& b, const Tensor& solution,
                            std::array<bool, 2> mask);
Tensor solve_ldl_backward(const Tensor& grad, const Tensor& LD, const Tensor& pivots,
                          bool hermitian);
TwoGradients solve_lu_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots,
                               const Tensor& result, bool adjoint, std::array<bool, 2> mask);
TwoGradients solve_triangular_backward(const Tensor& grad, const Tensor& a, const Tensor& result,
                                       bool upper, bool unitriangular, std::array<bool, 2> mask);
TwoGradients solve_backward(const Tensor& grad, const Tensor& a, const Tensor& result,
                            const Tensor& LU, const Tensor& pivots, std::array<bool, 2> mask);
TwoGradients householder_product_backward(const Tensor& grad, const Tensor& input,
                                          const Tensor& tau, std::array<bool, 2> mask);
ThreeGradients ormqr_backward(const Tensor& grad, const Tensor& input, const Tensor& tau,
                              const Tensor& other, bool left, bool transpose,
                              std::array<bool, 3> mask);
Tensor qr_backward(const Tensor& grad_Q, const Tensor& grad_R, IntArrayRef sizes, const Tensor& Q,
                   const Tensor& R, std::string_view mode);
Tensor det_backward(const Tensor& grad, const Tensor& det, const Tensor& a, const Tensor& LU,
                    const Tensor& pivots);
Tensor slogdet_backward(const Tensor& grad_sign, const Tensor& grad_logabsdet, const Tensor& a,
                        const Tensor& sign, const Tensor& LU, const Tensor& pivots);
Tensor pinv_backward(const Tensor& grad, const Tensor& a, const Tensor& pinv);
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& a);
Tensor matrix_sqrth_backward(const Tensor& grad, const Tensor& a);
Tensor polar_backward(const Tensor& grad_U, const Tensor& grad_H, const Tensor& a);
TwoGradients cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                            const Tensor& result, std::array<bool, 2> mask);
Tensor pdist_backward(const Tensor& grad, const Tensor& x, double p, const Tensor& result);

}  // namespace tenon::autograd::formulas
