// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Least squares, eigenvalues and singular values.
#include <algorithm>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/matrices.h"

namespace tenon::composite {
namespace {

using namespace matrices;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using OptTensor = std::optional<Tensor>;
using OptNumber = std::optional<double>;
using OptText = std::optional<std::string_view>;

// Whether a gradient will be asked for, which needs vectors.
bool is_recorded(const Tensor& t) { return GradMode::is_enabled() && t.requires_grad(); }

Tensor nothing_like(const Tensor& t) { return t.new_empty({0}); }

bool is_upper(const char* name, std::string_view uplo) {
  const char c = uplo.empty() ? ' ' : uplo[0];
  const bool upper = c == 'U' || c == 'u', lower = c == 'L' || c == 'l';
  TENON_CHECK(uplo.size() == 1 && (upper || lower), ValueError, name,
              ": Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  return upper;
}

Two eigh(const char* name, const Tensor& a, std::string_view uplo, bool vectors) {
  check_inexact(name, a);
  check_square(name, a);
  auto [L, V, info] = tenon::_factor_eigh(a, is_upper(name, uplo), vectors || is_recorded(a));
  check_info(name, Factors::Eigh, info);
  return {L, vectors ? V : nothing_like(V)};
}

Three decompose(const char* name, const Tensor& a, bool full, bool vectors, OptText driver) {
  check_inexact(name, a);
  check_matrices(name, a);
  TENON_CHECK(!driver, ValueError, name,
              ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
              "backend.");
  auto [U, S, Vh, info] =
      tenon::_factor_svd(a, full && vectors, vectors || is_recorded(a), std::nullopt);
  check_info(name, Factors::Svd, info);
  if (vectors) return {U, S, Vh};
  return {nothing_like(U), S, nothing_like(Vh)};
}

// The tolerances that are not given: a relative one of epsilon times the larger side, or zero where
// there is an absolute one that is not zero.
Two tolerances(const char* name, const Tensor& a, const OptTensor& atol, const OptTensor& rtol) {
  for (const OptTensor& t : {atol, rtol}) {
    TENON_CHECK(!t || !t->defined() || !t->is_complex(), ValueError, name,
                ": atol and rtol tensors of complex type are not supported.");
  }
  const TensorOptions real =
      a.options().dtype(toRealValueType(a.scalar_type())).requires_grad(std::nullopt);
  const auto given = [](const OptTensor& t) { return t && t->defined(); };
  const Tensor absolute =
      given(atol) ? atol->to(toRealValueType(a.scalar_type())) : tenon::zeros({}, real);
  if (given(rtol)) return {absolute, rtol->to(toRealValueType(a.scalar_type()))};
  const double relative = epsilon_of(a) * static_cast<double>(std::max(a.size(-1), a.size(-2)));
  const Tensor standard = tenon::full({}, relative, real);
  if (!given(atol)) return {absolute, standard};
  return {absolute, tenon::where(absolute > 0, tenon::zeros({}, real), standard)};
}

OptTensor number(const Tensor& like, OptNumber v) {
  if (!v) return std::nullopt;
  return tenon::full({}, *v, like.options().dtype(kDouble).requires_grad(std::nullopt));
}

}  // namespace

Four linalg_lstsq(const Tensor& self, const Tensor& b, OptNumber rcond, OptText driver) {
  const char* name = "torch.linalg.lstsq";
  check_inexact(name, self);
  check_matrices(name, self, "input");
  TENON_CHECK(b.dim() >= 1, ValueError, name, ": other must have at least 1 dimension.");
  TENON_CHECK(self.scalar_type() == b.scalar_type(), TypeError, name,
              ": Expected input and other to have the same dtype, but got input's dtype ",
              toString(self.scalar_type()), " and other's dtype ", toString(b.scalar_type()));
  const std::string_view chosen = driver.value_or("gelsy");
  TENON_CHECK(chosen == "gels" || chosen == "gelsy" || chosen == "gelsd" || chosen == "gelss",
              ValueError, name,
              ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got ", chosen);
  const bool vector =
      b.dim() == self.dim() - 1 && b.sizes() == self.sizes().slice(0, self.sizes().size() - 1);
  TENON_CHECK(vector || (b.dim() >= 2 && b.size(-2) == self.size(-2)), ValueError, name,
              ": input.size(-2) should match other.size(", vector ? -1 : -2, "), got shapes ",
              self.sizes(), " and ", b.sizes());
  const Tensor columns = vector ? as_columns(b) : b;
  const auto batch = common_batch(name, self, columns);
  auto [X, residuals, rank, values, info] =
      tenon::_factor_lstsq(with_batch(self, batch), with_batch(columns, batch), rcond, chosen);
  check_info(name, Factors::Lstsq, info);
  // Residuals are those of a full rank, or none.
  const int64_t n = self.size(-1);
  if (residuals.dim() > 1 || residuals.numel() > 0) {
    if (chosen != "gels" && (rank < n).any().item<bool>()) residuals = nothing_like(residuals);
  }
  return {vector ? X.squeeze(-1) : X, residuals, rank, values};
}

Two _linalg_eigh(const Tensor& a, std::string_view uplo, bool compute_v) {
  return eigh("linalg.eigh", a, uplo, compute_v);
}
Two linalg_eigh(const Tensor& self, std::string_view uplo) {
  return eigh("linalg.eigh", self, uplo, true);
}
Tensor linalg_eigvalsh(const Tensor& self, std::string_view uplo) {
  return std::get<0>(eigh("linalg.eigvalsh", self, uplo, false));
}
namespace {

Two general(const char* name, const Tensor& a, bool vectors) {
  check_inexact(name, a);
  check_square(name, a);
  auto [L, V, info] = tenon::_factor_eig(a, vectors || is_recorded(a));
  check_info(name, Factors::Eig, info);
  return {L, V};
}

}  // namespace

Two linalg_eig(const Tensor& self) { return general("linalg.eig", self, true); }
Tensor linalg_eigvals(const Tensor& self) {
  return std::get<0>(general("linalg.eigvals", self, false));
}

// LAPACK's real form: of a pair of conjugates v and conj(v) the columns are Re v and Im v, and the
// eigenvalue with a positive imaginary part is the first.
Two eig(const Tensor& self, bool eigenvectors) {
  check_square("eig", self, "self");
  auto [L, V] = general("eig", self.detach(), eigenvectors);
  const Tensor values = tenon::view_as_real(L).clone();
  if (!eigenvectors) return {values, self.new_empty({0})};
  const Tensor second = as_rows(tenon::imag(L) < 0);
  return {values, tenon::where(second, -tenon::imag(V), tenon::real(V))};
}

Two symeig(const Tensor& self, bool eigenvectors, bool upper) {
  return eigh("symeig", self, upper ? "U" : "L", eigenvectors);
}

Three _linalg_svd(const Tensor& a, bool full_matrices, bool compute_uv, OptText driver) {
  return decompose("linalg.svd", a, full_matrices, compute_uv, driver);
}
Three linalg_svd(const Tensor& a, bool full_matrices, OptText driver) {
  return decompose("linalg.svd", a, full_matrices, true, driver);
}
Tensor linalg_svdvals(const Tensor& a, OptText driver) {
  return std::get<1>(decompose("linalg.svdvals", a, false, false, driver));
}

Three svd(const Tensor& self, bool some, bool compute_uv) {
  auto [U, S, Vh] = decompose("svd", self, !some, compute_uv, std::nullopt);
  if (compute_uv) return {U, S, adj(Vh)};
  const int64_t m = self.size(-2), n = self.size(-1);
  const TensorOptions options = self.options().requires_grad(std::nullopt);
  return {tenon::zeros(batch_and(self, {m, m}), options), S,
          tenon::zeros(batch_and(self, {n, n}), options)};
}

Tensor linalg_pinv_atol_rtol_tensor(const Tensor& self, const OptTensor& atol,
                                    const OptTensor& rtol, bool hermitian) {
  check_inexact("linalg.pinv", self);
  check_matrices("linalg.pinv", self);
  if (hermitian) check_square("linalg.pinv", self);
  auto [absolute, relative] = tolerances("linalg.pinv", self, atol, rtol);
  if (self.numel() == 0) return tenon::_pinv(self, absolute, relative, hermitian);
  // Tolerances may have a batch of their own.
  const Tensor limits = absolute + relative;
  std::vector<int64_t> sizes = limits.sizes().vec();
  sizes.insert(sizes.end(), {1, 1});
  const auto batch = common_batch("linalg.pinv", self, limits.reshape(sizes));
  return tenon::_pinv(with_batch(self, batch), absolute, relative, hermitian);
}
Tensor linalg_pinv_atol_rtol_float(const Tensor& self, OptNumber atol, OptNumber rtol,
                                   bool hermitian) {
  return tenon::linalg_pinv(self, number(self, atol), number(self, rtol), hermitian);
}
Tensor linalg_pinv(const Tensor& self, double rcond, bool hermitian) {
  return tenon::linalg_pinv(self, number(self, 0), number(self, rcond), hermitian);
}
Tensor linalg_pinv_rcond_tensor(const Tensor& self, const Tensor& rcond, bool hermitian) {
  return tenon::linalg_pinv(self, number(self, 0), OptTensor(rcond), hermitian);
}

Tensor linalg_matrix_rank_atol_rtol_tensor(const Tensor& input, const OptTensor& atol,
                                           const OptTensor& rtol, bool hermitian) {
  const char* name = "linalg.matrix_rank";
  check_inexact(name, input);
  check_matrices(name, input);
  auto [absolute, relative] = tolerances(name, input, atol, rtol);
  if (input.numel() == 0)
    return tenon::zeros(batch_of(input), input.options().dtype(kLong).requires_grad(std::nullopt));
  const Tensor a = input.detach();
  const Tensor values = hermitian ? tenon::linalg_eigvalsh(a).abs() : tenon::linalg_svdvals(a);
  const Tensor limit =
      tenon::maximum(as_columns(absolute), as_columns(relative) * values.amax({-1}, true));
  return (values > limit).sum(-1);
}
Tensor linalg_matrix_rank_atol_rtol_float(const Tensor& self, OptNumber atol, OptNumber rtol,
                                          bool hermitian) {
  return tenon::linalg_matrix_rank(self, number(self, atol), number(self, rtol), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& self, double tol, bool hermitian) {
  return tenon::linalg_matrix_rank(self, number(self, tol), number(self, 0), hermitian);
}
Tensor linalg_matrix_rank_tol_tensor(const Tensor& input, const Tensor& tol, bool hermitian) {
  return tenon::linalg_matrix_rank(input, OptTensor(tol), number(input, 0), hermitian);
}

}  // namespace tenon::composite
