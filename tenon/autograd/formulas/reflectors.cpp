// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of QR and of products of the reflectors H = I - tau v v^H that it is packed as.
#include <vector>

#include "tenon/autograd/formulas/factor.h"
#include "tenon/ops/matrices.h"
#include "tenon/runtime/error.h"

namespace tenon::autograd::formulas {
namespace {

using namespace matrices;
using tenon::matmul;

struct Reflectors {
  std::vector<Tensor> v, tau;  // [.., m, 1] and [.., 1, 1]
};

Reflectors unpack(const Tensor& input, const Tensor& tau) {
  Reflectors r;
  const int64_t m = input.size(-2), k = tau.size(-1);
  const Tensor vectors = input.narrow(-1, 0, k).tril(-1) + identity(m, input).narrow(-1, 0, k);
  for (int64_t i = 0; i < k; ++i) {
    r.v.push_back(vectors.narrow(-1, i, 1));
    r.tau.push_back(as_columns(tau.narrow(-1, i, 1)));
  }
  return r;
}

struct Gradients {
  Tensor input, tau, start;
};

// Of result = H_1 .. H_k start, or of H_k^H .. H_1^H start: each reflector in turn, with what it
// was applied to.
Gradients through_reflectors(const Tensor& grad, const Tensor& input, const Tensor& tau,
                             const Tensor& start, bool transposed) {
  const Reflectors r = unpack(input, tau);
  const std::size_t k = r.v.size();
  const auto factor = [&](std::size_t i) { return transposed ? r.tau[i].conj() : r.tau[i]; };
  // Reflectors in the order of application: the last first, or the first if transposed.
  const auto at = [&](std::size_t step) { return transposed ? step : k - 1 - step; };
  std::vector<Tensor> before;
  Tensor x = start;
  for (std::size_t step = 0; step < k; ++step) {
    const std::size_t i = at(step);
    before.push_back(x);
    x = x - factor(i) * matmul(r.v[i], matmul(adj(r.v[i]), x));
  }
  std::vector<Tensor> by_v(k), by_tau(k);
  Tensor g = grad;
  for (std::size_t step = k; step-- > 0;) {
    const std::size_t i = at(step);
    const Tensor &v = r.v[i], &y = before[step], t = factor(i);
    const Tensor gv = matmul(adj(g), v), yv = matmul(adj(y), v);
    const Tensor by_factor = -matmul(adj(gv), yv);
    by_tau[i] = (transposed ? by_factor.conj() : by_factor).squeeze(-1);
    by_v[i] = -(t.conj() * matmul(g, yv) + t * matmul(y, gv));
    g = g - t.conj() * matmul(v, adj(gv));
  }
  Gradients out;
  out.start = g;
  if (k == 0) {
    out.input = tenon::zeros_like(input);
    out.tau = tenon::zeros_like(tau);
    return out;
  }
  out.tau = tenon::cat(by_tau, -1);
  out.input = tenon::cat(by_v, -1).tril(-1);
  const int64_t unused = input.size(-1) - tau.size(-1);
  if (unused > 0) {
    out.input =
        tenon::cat({out.input, tenon::zeros_like(input.narrow(-1, tau.size(-1), unused))}, -1);
  }
  return out;
}

// The gradient of Q R = A with at least as many rows as columns:
//   (gQ + Q (tril(M) + tril(M, -1)^H)) R^-H with M = R gR^H - gQ^H Q, and a real diagonal.
Tensor qr_backward_tall(const Tensor& grad_Q, const Tensor& grad_R, const Tensor& Q,
                        const Tensor& R) {
  Tensor m;
  if (grad_R.defined()) m = matmul(R, adj(grad_R.triu()));
  if (grad_Q.defined()) {
    const Tensor n = matmul(adj(grad_Q), Q);
    m = m.defined() ? m - n : -n;
  }
  const Tensor strict = m.tril(-1);
  Tensor out = matmul(Q, strict + adj(strict) + diagonal_matrix(tenon::real(diagonal_of(m))));
  if (grad_Q.defined()) out = grad_Q + out;
  return adj(tenon::_solve_triangular(R, adj(out), true, false));
}

}  // namespace

TwoGradients householder_product_backward(const Tensor& grad, const Tensor& input,
                                          const Tensor& tau, std::array<bool, 2> mask) {
  if (!grad.defined()) return {};
  const Tensor start =
      identity(input.size(-2), input).narrow(-1, 0, input.size(-1)).expand(input.sizes());
  const Gradients g = through_reflectors(grad, input, tau, start, false);
  return {mask[0] ? g.input : Tensor(), mask[1] ? g.tau : Tensor()};
}

// C Q is (Q^H C^H)^H.
ThreeGradients ormqr_backward(const Tensor& grad, const Tensor& input, const Tensor& tau,
                              const Tensor& other, bool left, bool transpose,
                              std::array<bool, 3> mask) {
  if (!grad.defined()) return {};
  // As torch: no elements have no gradient.
  if (input.numel() == 0) mask[0] = mask[1] = false;
  const Gradients g = left ? through_reflectors(grad, input, tau, other, transpose)
                           : through_reflectors(adj(grad), input, tau, adj(other), !transpose);
  return {mask[0] ? g.input : Tensor(), mask[1] ? g.tau : Tensor(),
          !mask[2] ? Tensor()
          : left   ? g.start
                   : adj(g.start)};
}

// With more columns than rows A is [X Y] and R is [S Q^H Y], where X = Q S.
Tensor qr_backward(const Tensor& grad_Q, const Tensor& grad_R, IntArrayRef sizes, const Tensor& Q,
                   const Tensor& R, std::string_view mode) {
  if (!grad_Q.defined() && !grad_R.defined()) return {};
  const int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1];
  TENON_CHECK(mode != "r", ValueError,
              "linalg.qr: The derivative of linalg.qr depends on Q, which is not computed when "
              "mode='r'. Please use linalg.qr(A, mode='reduced') if you are going to require "
              "gradients.");
  TENON_CHECK(mode != "complete" || m <= n, ValueError,
              "linalg.qr: The QR decomposition is not differentiable when mode='complete' and "
              "nrows > ncols.");
  if (m >= n) return qr_backward_tall(grad_Q, grad_R, Q, R);
  Tensor by_q = grad_Q, by_s, by_y;
  if (grad_R.defined()) {
    const Tensor g = grad_R.narrow(-1, m, n - m), y = matmul(Q, R.narrow(-1, m, n - m)),
                 more = matmul(y, adj(g));
    by_s = grad_R.narrow(-1, 0, m);
    by_y = matmul(Q, g);
    by_q = by_q.defined() ? by_q + more : more;
  }
  const Tensor by_x = qr_backward_tall(by_q, by_s, Q, R.narrow(-1, 0, m));
  if (!by_y.defined()) by_y = tenon::zeros(batch_and(by_x, {m, n - m}), by_x.options());
  return tenon::cat({by_x, by_y}, -1);
}

}  // namespace tenon::autograd::formulas
