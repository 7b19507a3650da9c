// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of eigenvalues and singular values, and of functions of matrices.
#include <vector>

#include "tenon/autograd/formulas/factor.h"
#include "tenon/ops/matrices.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::formulas {
namespace {

using namespace matrices;
using tenon::matmul;

Tensor add_defined(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : b.defined() ? a + b : a;
}
Tensor skew(const Tensor& a) { return a - adj(a); }

// v[j] - v[i] at row i and column j, 1 on the diagonal.
Tensor differences(const Tensor& v) { return as_rows(v) - as_columns(v) + identity(v.size(-1), v); }

// With the diagonal taken out.
Tensor off_diagonal(const Tensor& a) { return a - diagonal_matrix(diagonal_of(a)); }

}  // namespace

// A = V diag(L) V^H: V (offdiag(V^H gV) / (L[j] - L[i]) + diag(gL)) V^H.
Tensor eigh_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                     const Tensor& vectors) {
  const Tensor& V = vectors;
  if (!grad_values.defined() && !grad_vectors.defined()) return {};
  TENON_CHECK(V.dim() >= 2, ValueError,
              "linalg.eigh: the gradient needs eigenvectors, which were not computed");
  if (!grad_vectors.defined()) return matmul(V * as_rows(grad_values), adj(V));
  // Only the Hermitian part changes A.
  const Tensor turned = off_diagonal(matmul(adj(V), grad_vectors)) / differences(values);
  Tensor middle = (turned + adj(turned)) * 0.5;
  if (grad_values.defined()) middle = middle + diagonal_matrix(grad_values);
  return matmul(V, matmul(middle, adj(V)));
}

// A = V diag(L) V^-1, and every column of V has norm 1:
//   V^-H (diag(gL) + (V^H gV - V^H V diag(Re(V^H gV))) / conj(L[j] - L[i])) V^H.
Tensor eig_backward(const Tensor& grad_values, const Tensor& grad_vectors, ScalarType dtype,
                    const Tensor& values, const Tensor& vectors) {
  const Tensor& V = vectors;
  if (!grad_values.defined() && !grad_vectors.defined()) return {};
  TENON_CHECK(V.dim() >= 2, ValueError,
              "linalg.eig: the gradient needs eigenvectors, which were not computed");
  const Tensor h = adj(V);
  Tensor out;
  if (grad_vectors.defined()) {
    const Tensor g = matmul(h, grad_vectors);
    const Tensor free = g - matmul(h, V * as_rows(tenon::real(diagonal_of(g))));
    Tensor middle = off_diagonal(free / differences(values).conj());
    if (grad_values.defined()) middle = middle + diagonal_matrix(grad_values);
    out = matmul(middle, h);
  } else {
    out = as_columns(grad_values) * h;
  }
  out = tenon::linalg_solve(h, out);
  return isComplexType(dtype) ? out : tenon::real(out);
}

// Of the first k columns and rows alone, where U and Vh are square. In a complex factorization the
// phases of the singular vectors are free; the gradient is that of a function that does not
// depend on them.
Tensor svd_backward(const Tensor& grad_U, const Tensor& grad_S, const Tensor& grad_Vh,
                    IntArrayRef sizes, const Tensor& U_all, const Tensor& S, const Tensor& Vh_all) {
  if (!grad_U.defined() && !grad_S.defined() && !grad_Vh.defined()) return {};
  TENON_CHECK(U_all.dim() >= 2, ValueError,
              "linalg.svd: the gradient needs singular vectors, which were not computed");
  const int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = S.size(-1);
  const Tensor U = U_all.narrow(-1, 0, k), Vh = Vh_all.narrow(-2, 0, k);
  if (!grad_U.defined() && !grad_Vh.defined()) return matmul(U * as_rows(grad_S), Vh);
  const Tensor gU = grad_U.defined() ? grad_U.narrow(-1, 0, k) : Tensor(),
               gVh = grad_Vh.defined() ? grad_Vh.narrow(-2, 0, k) : Tensor();
  const Tensor by_u = gU.defined() ? skew(matmul(adj(U), gU)) : Tensor(),
               by_v = gVh.defined() ? skew(matmul(Vh, adj(gVh))) : Tensor();
  Tensor middle;
  if (by_u.defined()) middle = by_u * as_rows(S);
  if (by_v.defined()) middle = add_defined(middle, by_v * as_columns(S));
  middle = off_diagonal(middle / differences(S * S));
  if (U.is_complex() && by_u.defined())
    middle = middle + diagonal_matrix(diagonal_of(by_u) / (S * 2));
  if (grad_S.defined()) middle = middle + diagonal_matrix(grad_S);
  if (m > k && gU.defined()) {
    const Tensor g = gU / as_rows(S);
    return matmul(matmul(U, middle) + g - matmul(U, matmul(adj(U), g)), Vh);
  }
  if (n > k && gVh.defined()) {
    const Tensor g = gVh / as_columns(S);
    return matmul(U, matmul(middle, Vh) + g - matmul(matmul(g, adj(Vh)), Vh));
  }
  return matmul(U, matmul(middle, Vh));
}

// Golub and Pereyra, "The differentiation of pseudo-inverses".
Tensor pinv_backward(const Tensor& grad, const Tensor& a, const Tensor& pinv) {
  if (!grad.defined()) return {};
  const Tensor xh = adj(pinv), gh = adj(grad);
  const Tensor left = matmul(gh, matmul(pinv, xh)), right = matmul(matmul(xh, pinv), gh);
  return left - matmul(a, matmul(pinv, left)) + right - matmul(matmul(right, pinv), a) -
         matmul(xh, matmul(grad, xh));
}

Tensor matrix_exp_backward(const Tensor& grad, const Tensor& a) {
  if (!grad.defined()) return {};
  return tenon::matrix_exp_backward(a, grad);
}

// R R = A: the gradient X solves R X + X R = G with the Hermitian part of G, as A is Hermitian.
// Where two roots are zero, so is it.
Tensor matrix_sqrth_backward(const Tensor& grad, const Tensor& a) {
  if (!grad.defined()) return {};
  auto [L, V] = tenon::linalg_eigh(a);
  const Tensor root = tenon::sqrt(tenon::clamp_min(L, 0)), sums = as_rows(root) + as_columns(root);
  const Tensor middle = matmul(adj(V), matmul((grad + adj(grad)) / 2, V));
  const Tensor zero = sums == 0;
  const Tensor x = tenon::where(zero, tenon::zeros_like(middle),
                                middle / tenon::where(zero, tenon::ones_like(sums), sums));
  return matmul(V, matmul(x, adj(V)));
}

// With A = W S V^H, P = W^H gU V and Q = V^H gH V the gradient of W^H A V is
//   (P - P^H + S (Q + Q^H)) / (s[i] + s[j]).
Tensor polar_backward(const Tensor& grad_U, const Tensor& grad_H, const Tensor& a) {
  if (!grad_U.defined() && !grad_H.defined()) return {};
  auto [W, S, Vh] = tenon::linalg_svd(a, false);
  const Tensor V = adj(Vh);
  Tensor middle, outside;
  if (grad_U.defined()) {
    const Tensor g = matmul(grad_U, V);
    const Tensor inside = matmul(adj(W), g);
    middle = skew(inside);
    if (a.size(-2) > a.size(-1)) outside = (g - matmul(W, inside)) / as_rows(S);
  }
  if (grad_H.defined()) {
    const Tensor q = matmul(Vh, matmul(grad_H, V));
    middle = add_defined(middle, (q + adj(q)) * as_columns(S));
  }
  return matmul(add_defined(matmul(W, middle / (as_rows(S) + as_columns(S))), outside), Vh);
}

// X = A^+ B. The residuals are sums of squares of B - A X, whose derivative by X is zero.
TwoGradients lstsq_backward(const Tensor& grad_solution, const Tensor& grad_residuals,
                            const Tensor& a, const Tensor& b, const Tensor& solution,
                            std::array<bool, 2> mask) {
  Tensor by_a, by_b;
  if (grad_solution.defined()) {
    const Tensor pinv = tenon::linalg_pinv(a);
    if (mask[0]) by_a = pinv_backward(matmul(grad_solution, adj(b)), a, pinv);
    if (mask[1]) by_b = matmul(adj(pinv), grad_solution);
  }
  if (grad_residuals.defined() && grad_residuals.numel() > 0) {
    const Tensor g = (matmul(a, solution) - b) * as_rows(grad_residuals * 2);
    if (mask[0]) by_a = add_defined(by_a, matmul(g, adj(solution)));
    if (mask[1]) by_b = add_defined(by_b, -g);
  }
  return {by_a, by_b};
}

}  // namespace tenon::autograd::formulas
