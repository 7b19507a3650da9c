// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Least squares by other factorizations, for devices without a kernel: by QR where the rank is
// certainly full, otherwise by singular values. Both give the solution of least norm.
#include <algorithm>

#include "tenon/ops/decomp/decomp.h"
#include "tenon/ops/matrices.h"

namespace tenon::decomp {
namespace {

using namespace matrices;
using tenon::matmul;
using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;

// Results that a driver does not have are empty.
struct LeastSquares {
  Tensor solution, residuals, rank, values, info;
};

Tensor squares(const Tensor& t) { return t.abs().square(); }
// One value per matrix, to go with its elements.
Tensor per_matrix(const Tensor& t) { return as_columns(as_columns(t)); }
Tensor all_finite(const Tensor& t) {
  const Tensor parts = t.is_complex() ? tenon::view_as_real(t) : t;
  return tenon::isfinite(parts).flatten(t.dim() - 2).all(-1);
}
Tensor zeros_of(const Tensor& a, std::initializer_list<int64_t> sizes, ScalarType dtype) {
  return tenon::zeros(batch_and(a, sizes), options_of(a, dtype));
}

struct Qr {
  Tensor R, solution, rest;  // rest: the rows of Q^H b that no solution reaches
};

// Tall: A = Q R and R x = Q^H b. Wide: A^H = Q R, and x = Q R^-H b.
Qr by_qr(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  auto [packed, tau] = tenon::geqrf(m < n ? adj(a) : a);
  const Tensor R = packed.narrow(-2, 0, k).triu();
  if (m < n) {
    const Tensor y = tenon::_solve_triangular(adj(R), b, false, false);
    const Tensor padded = tenon::cat({y, zeros_of(b, {n - m, b.size(-1)}, b.scalar_type())}, -2);
    return {R, tenon::ormqr(packed, tau, padded, true, false), b.narrow(-2, 0, 0)};
  }
  const Tensor y = tenon::ormqr(packed, tau, b, true, true);
  return {R, tenon::_solve_triangular(R, y.narrow(-2, 0, n), true, false), y.narrow(-2, n, m - n)};
}

// Where the diagonal has its first zero, counted from 1, or 0.
Tensor first_zero(const Tensor& R) {
  const int64_t k = R.size(-1);
  const Tensor place = positions(k, R) + 1, beyond = tenon::full_like(place, k + 1);
  return tenon::where(diagonal_of(R) == 0, place, beyond).amin(-1) % (k + 1);
}

// As LAPACK, a matrix of zeros is solved by zeros.
LeastSquares solve_gels(const Tensor& a, const Tensor& b) {
  const Qr qr = by_qr(a, b);
  const Tensor zero = qr.R.abs().amax({-2, -1}) == 0;
  return {tenon::where(per_matrix(zero), tenon::zeros_like(qr.solution), qr.solution),
          squares(qr.rest).sum(-2) * as_columns(~zero), Tensor(), Tensor(),
          tenon::where(zero, tenon::zeros_like(zero, options_of(a, kLong)), first_zero(qr.R))};
}

// Whether each matrix has no singular value below the limit times the largest: the norms of
// Frobenius are bounds of the largest one and of the reciprocal of the smallest.
bool has_full_rank(const Tensor& R, double limit) {
  const Tensor one = identity(R.size(-1), R).expand(R.sizes());
  const auto norm = [](const Tensor& t) { return squares(t).sum({-2, -1}).sqrt(); };
  const Tensor inverse = tenon::_solve_triangular(R, one, true, false);
  return (norm(R) * norm(inverse) * limit < 1).all().item<bool>();
}

LeastSquares by_singular_values(const Tensor& a, const Tensor& b, double limit) {
  auto [U, S, Vh, info] = tenon::_factor_svd(a, false, true, std::nullopt);
  const Tensor kept = S > S.narrow(-1, 0, 1) * limit;
  const Tensor inverses = tenon::where(kept, S.reciprocal(), tenon::zeros_like(S));
  const Tensor x = matmul(adj(Vh) * as_rows(inverses), matmul(adj(U), b));
  return {x, squares(b - matmul(a, x)).sum(-2), kept.sum(-1), S, info};
}

LeastSquares solve_gelsy(const Tensor& a, const Tensor& b, double limit) {
  const Qr qr = by_qr(a, b);
  if (!has_full_rank(qr.R, limit)) return by_singular_values(a, b, limit);
  const Tensor rank = zeros_of(a, {}, kLong) + qr.R.size(-1);
  return {qr.solution, Tensor(), rank, Tensor(), zeros_of(a, {}, kInt)};
}

// Singular values up to it, times the largest, count as zero. Of numbers that cannot be a limit
// LAPACK's drivers take half an epsilon.
double limit_of(const Tensor& a, std::optional<double> rcond, std::string_view driver) {
  const double epsilon = epsilon_of(a);
  if (!rcond) return epsilon * static_cast<double>(std::max(a.size(-2), a.size(-1)));
  const bool no_limit = *rcond < 0 || (driver == "gelsd" && (*rcond == 0 || *rcond >= 1));
  return no_limit && driver != "gelsy" ? epsilon / 2 : *rcond;
}

// As torch, gels without columns has residuals of zero.
LeastSquares without_elements(const Tensor& a, const Tensor& b, std::string_view driver) {
  const ScalarType real = toRealValueType(a.scalar_type());
  const int64_t m = a.size(-2), n = a.size(-1), c = b.size(-1);
  return {zeros_of(a, {n, c}, a.scalar_type()),
          driver == "gels" || n > 0 ? zeros_of(a, {c}, real) : squares(b).sum(-2),
          zeros_of(a, {}, kLong), zeros_of(a, {std::min(m, n)}, real), zeros_of(a, {}, kInt)};
}

LeastSquares solve(const Tensor& self, const Tensor& b, std::optional<double> rcond,
                   std::string_view driver) {
  if (self.numel() == 0 || b.numel() == 0) return without_elements(self, b, driver);
  // No iteration sees what is not finite: the result is NaN, as on the host.
  const Tensor finite = tenon::logical_and(all_finite(self), all_finite(b));
  const Tensor a = tenon::where(per_matrix(finite), self, tenon::zeros_like(self));
  const double limit = limit_of(a, rcond, driver);
  LeastSquares all = driver == "gels"    ? solve_gels(a, b)
                     : driver == "gelsy" ? solve_gelsy(a, b, limit)
                                         : by_singular_values(a, b, limit);
  const Tensor nan = tenon::full({}, NAN, options_of(a, toRealValueType(a.scalar_type())));
  all.solution = tenon::where(per_matrix(finite), all.solution, nan);
  if (all.residuals.defined()) all.residuals = tenon::where(as_columns(finite), all.residuals, nan);
  return all;
}

}  // namespace

Five _factor_lstsq(const Tensor& self, const Tensor& b, std::optional<double> rcond,
                   std::string_view driver) {
  LeastSquares all = solve(self, b, rcond, driver);
  const bool values = driver == "gelsd" || driver == "gelss";
  const Tensor none = tenon::empty({0}, options_of(self));
  const bool residuals = driver != "gelsy" && self.size(-2) > self.size(-1);
  return {all.solution, residuals ? all.residuals : none, driver == "gels" ? none : all.rank,
          values ? all.values : none, all.info};
}

}  // namespace tenon::decomp
