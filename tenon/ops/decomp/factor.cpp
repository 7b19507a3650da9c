// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Solutions, determinants and functions of matrices, by factorizations.
#include <algorithm>
#include <cmath>

#include "tenon/ops/decomp/decomp.h"
#include "tenon/ops/matrices.h"

namespace tenon::decomp {
namespace {

using namespace matrices;
using tenon::matmul;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// 1 or -1: each exchange of two different rows changes the sign.
Tensor sign_of_pivots(const Tensor& pivots, ScalarType dtype) {
  const Tensor own = tenon::arange(1, pivots.size(-1) + 1, pivots.options());
  const Tensor odd = (pivots != own).sum(-1) % 2;
  return (odd * -2 + 1).to(dtype);
}

}  // namespace

Both _factor_inverse(const Tensor& self) {
  auto [LU, pivots, info] = tenon::_factor_lu(self);
  const Tensor right = identity(self.size(-1), self).expand(self.sizes());
  return {tenon::_solve_lu(LU, pivots, right, false), info};
}

Four _solve_square(const Tensor& a, const Tensor& b) {
  auto [LU, pivots, info] = tenon::_factor_lu(a);
  return {tenon::_solve_lu(LU, pivots, b, false), LU, pivots, info};
}

Three _linalg_det(const Tensor& a) {
  auto [LU, pivots, info] = tenon::_factor_lu(a);
  return {diagonal_of(LU).prod(-1) * sign_of_pivots(pivots, a.scalar_type()), LU, pivots};
}

Four _linalg_slogdet(const Tensor& a) {
  auto [LU, pivots, info] = tenon::_factor_lu(a);
  const Tensor d = diagonal_of(LU);
  return {tenon::sgn(d).prod(-1) * sign_of_pivots(pivots, a.scalar_type()), d.abs().log().sum(-1),
          LU, pivots};
}

Both linalg_qr(const Tensor& a, std::string_view mode) {
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  auto [packed, tau] = tenon::geqrf(a);
  const bool complete = mode == "complete";
  Tensor R = packed.narrow(-2, 0, k).triu();
  if (mode == "r") return {tenon::empty({0}, options_of(a)), R};
  if (complete && m > n)
    R = tenon::cat({R, tenon::zeros(batch_and(a, {m - n, n}), options_of(a))}, -2);
  Tensor reflectors = packed.narrow(-1, 0, k);
  if (complete && m > k) {
    reflectors =
        tenon::cat({reflectors, tenon::zeros(batch_and(a, {m, m - k}), options_of(a))}, -1);
  }
  return {tenon::linalg_householder_product(reflectors, tau), R};
}

// Tolerances have the shape of the batch, or one that broadcasts to it.
Tensor _pinv(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (self.numel() == 0)
    return tenon::empty(batch_and(self, {self.size(-1), self.size(-2)}), options_of(self));
  const auto inverses = [&](const Tensor& values) {
    const Tensor size = values.abs(), largest = size.amax(-1, true);
    const Tensor limit = tenon::maximum(as_columns(atol), as_columns(rtol) * largest);
    return tenon::where(size > limit, values.reciprocal(), tenon::zeros_like(values));
  };
  if (hermitian) {
    auto [L, V] = tenon::linalg_eigh(self);
    return matmul(V * as_rows(inverses(L)), adj(V));
  }
  auto [U, S, Vh] = tenon::linalg_svd(self, false);
  return matmul(adj(Vh) * as_rows(inverses(S)), adj(U));
}

Tensor linalg_matrix_sqrth(const Tensor& self) {
  auto [L, V] = tenon::linalg_eigh(self);
  return matmul(V * as_rows(tenon::clamp_min(L, 0).sqrt()), adj(V));
}

Both linalg_polar(const Tensor& a) {
  auto [W, S, Vh] = tenon::linalg_svd(a, false);
  return {matmul(W, Vh), matmul(adj(Vh) * as_rows(S), Vh)};
}

// The Taylor polynomial of degree 18 of A / 2^s, squared s times; its remainder is below half an
// epsilon of double for a norm of at most 1 (Bader, Blanes and Casas give finer bounds). Each
// matrix is squared as often as its own norm asks for.
Tensor linalg_matrix_exp(const Tensor& self) {
  const int64_t n = self.size(-1);
  if (self.numel() == 0) return self.clone();
  const Tensor a = wide(self), norms = a.abs().sum(-2).amax(-1);
  const Tensor squarings =
      tenon::where(norms > 1, norms, tenon::ones_like(norms)).log2().ceil().clamp_max(1100);
  const double most = squarings.max().item<double>();
  const auto by_matrix = [](const Tensor& t) { return as_columns(as_columns(t)); };
  const Tensor x = a * by_matrix(tenon::exp2(-squarings)), one = identity(n, a);
  // Paterson and Stockmeyer: groups of four powers.
  const Tensor x2 = matmul(x, x), x3 = matmul(x2, x), x4 = matmul(x2, x2);
  double factor[20] = {1};
  for (int i = 1; i < 20; ++i) factor[i] = factor[i - 1] / i;
  const auto group = [&](int i) {
    return one * factor[i] + x * factor[i + 1] + x2 * factor[i + 2] + x3 * factor[i + 3];
  };
  Tensor out = group(16);
  for (int i = 12; i >= 0; i -= 4) out = matmul(out, x4) + group(i);
  for (int64_t i = 0; static_cast<double>(i) < most; ++i) {
    const Tensor more = by_matrix(squarings > static_cast<double>(i));
    out = tenon::where(more, matmul(out, out), out);
  }
  return out;
}

Tensor _cdist_forward(const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t> mode) {
  // As torch: 0 is by a product where there are more than 25 rows, 1 always, 2 never.
  const bool product = p == 2 && mode.value_or(0) != 2 &&
                       (mode.value_or(0) == 1 || x1.size(-2) > 25 || x2.size(-2) > 25);
  if (x1.size(-1) == 0)
    return tenon::zeros(batch_and(x1, {x1.size(-2), x2.size(-2)}), options_of(x1));
  if (product) return tenon::_euclidean_dist(x1, x2);
  return tenon::norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, {-1}, false);
}

Tensor _pdist_forward(const Tensor& self, double p) {
  const int64_t n = self.size(0);
  const Tensor pairs =
      tenon::triu_indices(n, n, 1, TensorOptions().dtype(kLong).device(self.device()));
  const Tensor d =
      self.index_select(0, pairs.select(0, 0)) - self.index_select(0, pairs.select(0, 1));
  if (self.size(1) == 0) return tenon::zeros({d.size(0)}, options_of(self));
  return tenon::norm(d, p, {1}, false);
}

}  // namespace tenon::decomp
