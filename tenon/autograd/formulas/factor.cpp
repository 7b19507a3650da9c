// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of triangular factorizations, and of what is solved with them.
#include "tenon/autograd/formulas/factor.h"

#include "tenon/autograd.h"
#include "tenon/autograd/formulas.h"
#include "tenon/ops/matrices.h"

namespace tenon::autograd::formulas {
namespace {

using namespace matrices;
using tenon::matmul;

// Solutions with the upper triangle of `a`.
Tensor solve_upper(const Tensor& a, const Tensor& b, bool unit = false) {
  return tenon::_solve_triangular(a, b, true, unit);
}
// b @ A^-H for upper A, which is (A^-1 @ b^H)^H.
Tensor times_inverse_adjoint(const Tensor& b, const Tensor& upper) {
  return adj(solve_upper(upper, adj(b)));
}

// A unit lower triangle of the first columns.
Tensor unit_lower(const Tensor& square) {
  return square.tril(-1) + identity(square.size(-1), square);
}

}  // namespace

// Giles, "Collected matrix derivative results", with what the rows or columns beyond the square
// part add. With A = P L U the gradient of P^T A is
//   L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H
Tensor lu_factor_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  if (!grad.defined()) return {};
  const int64_t m = LU.size(-2), n = LU.size(-1), k = std::min(m, n);
  const Tensor square = LU.narrow(-2, 0, k).narrow(-1, 0, k),
               g = grad.narrow(-2, 0, k).narrow(-1, 0, k);
  const Tensor L = unit_lower(square), U = square.triu();
  Tensor lower = matmul(adj(L), g.tril(-1)), upper = matmul(g.triu(), adj(U));
  Tensor rest;
  if (n > k) {
    const Tensor g2 = grad.narrow(-1, k, n - k);
    lower = lower - matmul(g2, adj(LU.narrow(-1, k, n - k)));
    rest = solve_upper(adj(L), g2, true);
  } else if (m > k) {
    const Tensor g2 = grad.narrow(-2, k, m - k);
    upper = upper - matmul(adj(LU.narrow(-2, k, m - k)), g2);
    rest = times_inverse_adjoint(g2, U);
  }
  Tensor out = times_inverse_adjoint(solve_upper(adj(L), lower.tril(-1) + upper.triu(), true), U);
  if (rest.defined()) out = tenon::cat({out, rest}, n > k ? -1 : -2);
  return matmul(permutation_matrix(pivots, m, LU), out);
}

// Murray, "Differentiation of the Cholesky decomposition".
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  if (!grad.defined()) return {};
  const Tensor L = upper ? adj(factor) : factor, g = upper ? adj(grad) : grad;
  const Tensor inner = matmul(adj(L), g.tril()), strict = inner.tril(-1);
  const Tensor middle =
      (strict + adj(strict) + diagonal_matrix(tenon::real(diagonal_of(inner)))) * 0.5;
  const Tensor half = solve_upper(adj(L), middle);
  return adj(solve_upper(adj(L), adj(half)));
}

Tensor inverse_backward(const Tensor& grad, const Tensor& inverse) {
  if (!grad.defined()) return {};
  const Tensor h = adj(inverse);
  return -matmul(h, matmul(grad, h));
}

Tensor solve_ldl_backward(const Tensor& grad, const Tensor& LD, const Tensor& pivots,
                          bool hermitian) {
  if (hermitian || !LD.is_complex()) return tenon::_solve_ldl(LD, pivots, grad, hermitian);
  return tenon::_solve_ldl(LD, pivots, grad.conj(), false).conj();
}

TwoGradients solve_lu_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots,
                               const Tensor& result, bool is_adjoint, std::array<bool, 2> mask) {
  const Tensor by_b = tenon::_solve_lu(LU, pivots, grad, !is_adjoint);
  Tensor by_factors;
  if (mask[0]) {
    const Tensor by_a = is_adjoint ? -matmul(result, adj(by_b)) : -matmul(by_b, adj(result));
    const Tensor w = matmul(adj(permutation_matrix(pivots, LU.size(-2), LU)), by_a);
    by_factors = matmul(adj(unit_lower(LU)), w).triu() + matmul(w, adj(LU.triu())).tril(-1);
  }
  return {by_factors, mask[1] ? by_b : Tensor()};
}

TwoGradients solve_triangular_backward(const Tensor& grad, const Tensor& a, const Tensor& result,
                                       bool upper, bool unitriangular, std::array<bool, 2> mask) {
  const Tensor by_b = tenon::_solve_triangular(adj(a), grad, !upper, unitriangular);
  Tensor by_a;
  if (mask[0]) {
    const Tensor all = -matmul(by_b, adj(result));
    const int64_t offset = unitriangular ? 1 : 0;
    by_a = upper ? all.triu(offset) : all.tril(-offset);
  }
  return {by_a, mask[1] ? by_b : Tensor()};
}

// The factors serve again, unless the gradient is differentiated, too.
TwoGradients solve_backward(const Tensor& grad, const Tensor& a, const Tensor& result,
                            const Tensor& LU, const Tensor& pivots, std::array<bool, 2> mask) {
  if (!grad.defined()) return {};
  const Tensor by_b = GradMode::is_enabled() ? std::get<0>(tenon::_solve_square(adj(a), grad))
                                             : tenon::_solve_lu(LU, pivots, grad, true);
  return {mask[0] ? -matmul(by_b, adj(result)) : Tensor(), mask[1] ? by_b : Tensor()};
}

namespace {

// X for which A^H @ X is `scale` times the identity, by the factors of A. Zeros on the diagonal of
// U become the smallest number that counts beside 1.
Tensor adjoint_inverse(const Tensor& LU, const Tensor& pivots, const Tensor& scale) {
  const Tensor d = diagonal_of(LU);
  const Tensor safe = LU + diagonal_matrix((d == 0).to(LU.scalar_type()) * epsilon_of(LU));
  return tenon::_solve_lu(safe, pivots, diagonal_matrix(as_columns(scale).expand(d.sizes())), true);
}

// From singular values: the derivative of their product needs no inverse.
Tensor det_backward_singular(const Tensor& grad, const Tensor& a) {
  auto [U, S, Vh] = tenon::linalg_svd(a, true);
  const Tensor unit = (tenon::linalg_det(U) * tenon::linalg_det(Vh)).conj() * grad;
  std::vector<Tensor> others;
  for (int64_t i = 0; i < S.size(-1); ++i) {
    others.push_back(
        tenon::cat({S.narrow(-1, 0, i), S.narrow(-1, i + 1, S.size(-1) - i - 1)}, -1).prod(-1));
  }
  const Tensor products = tenon::stack(others, -1);
  return matmul(U, as_columns(as_columns(unit).expand(products.sizes()) * products) * Vh);
}

}  // namespace

// det(A)^* A^-H, which is continuous where A is singular.
Tensor det_backward(const Tensor& grad, const Tensor& det, const Tensor& a, const Tensor& LU,
                    const Tensor& pivots) {
  if (!grad.defined()) return {};
  if (a.numel() == 0) return tenon::zeros_like(a);
  const Tensor scale = grad * det.conj();
  if (!GradMode::is_enabled()) return adjoint_inverse(LU, pivots, scale);
  if ((det.detach() == 0).any().item<bool>()) return det_backward_singular(grad, a);
  const Tensor right = diagonal_matrix(as_columns(scale).expand(diagonal_of(LU).sizes()));
  return std::get<0>(tenon::_solve_square(adj(a), right));
}

// The gradient of log |det A| is A^-H; that of the phase adds an imaginary factor.
Tensor slogdet_backward(const Tensor& grad_sign, const Tensor& grad_logabsdet, const Tensor& a,
                        const Tensor& sign, const Tensor& LU, const Tensor& pivots) {
  Tensor scale = grad_logabsdet;
  if (a.is_complex()) {
    scale = scale.defined() ? scale.to(a.scalar_type()) : tenon::zeros_like(sign);
    if (grad_sign.defined()) {
      const Tensor turned = grad_sign.conj() * sign;
      // Minus i times the imaginary part.
      scale = scale - (turned - turned.conj()) * 0.5;
    }
  }
  if (!scale.defined()) return tenon::zeros_like(a);
  if (!GradMode::is_enabled()) return adjoint_inverse(LU, pivots, scale);
  const Tensor right = diagonal_matrix(as_columns(scale).expand(diagonal_of(LU).sizes()));
  return std::get<0>(tenon::_solve_square(adj(a), right));
}

}  // namespace tenon::autograd::formulas
