// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Linear equations and triangular factors. Primitives take batches of equal shape and say in `info`
// what went wrong; here batches broadcast, and errors are raised.
#include <algorithm>
#include <cmath>

#include "tenon/autograd/function.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/ops/matrices.h"

namespace tenon::composite {
namespace {

using namespace matrices;
using Two = std::tuple<Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

void check_same_dtype(const char* name, const Tensor& a, const Tensor& b) {
  TENON_CHECK(a.scalar_type() == b.scalar_type(), TypeError, name,
              ": Expected A and B to have the same dtype, but found A of type ",
              toString(a.scalar_type()), " and B of type ", toString(b.scalar_type()), " instead");
}

// The right side fits the equations A X = B, or X A = B.
void check_right_side(const char* name, const Tensor& a, const Tensor& b, bool left) {
  check_square(name, a);
  check_matrices(name, b, "B");
  check_same_dtype(name, a, b);
  TENON_CHECK(a.size(-1) == b.size(left ? -2 : -1), ValueError, name,
              ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B",
              " (", a.size(-2), "x", a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
}

Tensor pivots_with_batch(const Tensor& pivots, std::vector<int64_t> batch) {
  batch.push_back(pivots.size(-1));
  return pivots.sizes() == IntArrayRef(batch) ? pivots : pivots.expand(batch);
}

void check_pivots(const char* name, const Tensor& factors, const Tensor& pivots) {
  TENON_CHECK(pivots.scalar_type() == kInt, TypeError, name,
              ": Expected pivots to be a Tensor of torch.int32 dtype. Got ",
              toString(pivots.scalar_type()));
  TENON_CHECK(
      pivots.dim() == factors.dim() - 1 &&
          pivots.size(-1) == std::min(factors.size(-1), factors.size(-2)) &&
          pivots.sizes().slice(0, pivots.sizes().size() - 1) == IntArrayRef(batch_of(factors)),
      ValueError, name, ": Expected a pivot for each row of the factors, got shapes ",
      factors.sizes(), " and ", pivots.sizes());
}

// B is a batch of vectors, as in numpy: one vector, or of the batch of A and its rows.
bool is_vector(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  return b.dim() == a.dim() - 1 && a.dim() >= 2 &&
         b.sizes() == a.sizes().slice(0, a.sizes().size() - 1);
}

// A X = B by LU factors of A.
Four solve(const char* name, const Tensor& a, const Tensor& given, bool left, bool check) {
  check_inexact(name, a);
  check_square(name, a);
  const bool vector = is_vector(a, given);
  TENON_CHECK(!vector || left, ValueError, name,
              ": Vector broadcasting of the left hand side is not supported for left=False. In "
              "this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const Tensor b = vector ? as_columns(given) : given;
  check_right_side(name, a, b, left);
  const auto batch = common_batch(name, a, b);
  const Tensor matrices = with_batch(a, batch), right = with_batch(b, batch);
  auto [x, LU, pivots, info] =
      tenon::_solve_square(left ? matrices : adj(matrices), left ? right : adj(right));
  if (check) check_info(name, Factors::Solve, info);
  const Tensor result = left ? x : adj(x);
  return {vector ? result.squeeze(-1) : result, LU, pivots, info};
}

}  // namespace

Three linalg_lu_factor_ex(const Tensor& a, bool pivot, bool check_errors) {
  check_inexact("linalg.lu_factor_ex", a);
  check_matrices("linalg.lu_factor_ex", a);
  TENON_CHECK(pivot, NotImplementedError,
              "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  auto all = tenon::_factor_lu(a);
  if (check_errors) check_info("torch.linalg.lu_factor_ex", Factors::Lu, std::get<2>(all));
  return all;
}

Two linalg_lu_factor(const Tensor& a, bool pivot) {
  auto [LU, pivots, info] = tenon::linalg_lu_factor_ex(a, pivot, false);
  check_info("torch.linalg.lu_factor", Factors::Lu, info);
  return {LU, pivots};
}

Three lu_unpack(const Tensor& data, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  check_matrices("lu_unpack", data, "LU_data");
  const int64_t m = data.size(-2), n = data.size(-1), k = std::min(m, n);
  const auto empty = [&] { return tenon::empty({0}, data.options().requires_grad(std::nullopt)); };
  Three out{empty(), empty(), empty()};
  if (unpack_pivots) {
    TENON_CHECK(pivots.scalar_type() == kInt, TypeError,
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
                "dtype. Note: this function is intended to be used with the output produced by "
                "torch.linalg.lu_factor. Got ",
                toString(pivots.scalar_type()));
    std::get<0>(out) = permutation_matrix(pivots, m, data);
  }
  if (unpack_data) {
    const Tensor tall =
        m > k ? tenon::cat({identity(k, data),
                            tenon::zeros({m - k, k}, data.options().requires_grad(std::nullopt))},
                           0)
              : identity(k, data);
    std::get<1>(out) = data.narrow(-1, 0, k).tril(-1) + tall;
    std::get<2>(out) = data.narrow(-2, 0, k).triu();
  }
  return out;
}

Three linalg_lu(const Tensor& a, bool pivot) {
  auto [LU, pivots, info] = tenon::linalg_lu_factor_ex(a, pivot, false);
  return tenon::lu_unpack(LU, pivots);
}

// X A = B is A^H X^H = B^H.
Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& b, bool left,
                       bool adjoint) {
  const char* name = "linalg.lu_solve";
  check_inexact(name, LU);
  check_right_side(name, LU, b, left);
  check_pivots(name, LU, pivots);
  const auto batch = common_batch(name, LU, b);
  const Tensor factors = with_batch(LU, batch), rows = pivots_with_batch(pivots, batch),
               right = with_batch(b, batch);
  if (left) return tenon::_solve_lu(factors, rows, right, adjoint);
  return adj(tenon::_solve_lu(factors, rows, adj(right), !adjoint));
}

Four _linalg_solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  return solve("torch.linalg.solve_ex", a, b, left, check_errors);
}

Two linalg_solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  auto [x, LU, pivots, info] = solve("torch.linalg.solve_ex", a, b, left, check_errors);
  return {x, info};
}

Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) {
  return std::get<0>(solve("torch.linalg.solve", a, b, left, true));
}

Two linalg_inv_ex(const Tensor& a, bool check_errors) {
  check_inexact("linalg.inv_ex", a);
  check_square("linalg.inv", a);
  auto all = tenon::_factor_inverse(a);
  if (check_errors) check_info("linalg.inv_ex", Factors::Inverse, std::get<1>(all));
  return all;
}

Tensor linalg_inv(const Tensor& a) {
  auto [inverse, info] = tenon::linalg_inv_ex(a);
  check_info("linalg.inv", Factors::Inverse, info);
  return inverse;
}

Tensor linalg_det(const Tensor& a) {
  check_inexact("linalg.det", a);
  check_square("linalg.det", a);
  return std::get<0>(tenon::_linalg_det(a));
}

Two linalg_slogdet(const Tensor& a) {
  check_inexact("linalg.slogdet", a);
  check_square("linalg.slogdet", a);
  auto [sign, logarithm, LU, pivots] = tenon::_linalg_slogdet(a);
  return {sign, logarithm};
}

Tensor logdet(const Tensor& self) {
  check_inexact("logdet", self);
  check_square("linalg.slogdet", self);
  auto [sign, logarithm, LU, pivots] = tenon::_linalg_slogdet(self);
  if (self.is_complex()) return tenon::log(sign) + logarithm;
  return tenon::where(sign == -1, tenon::full_like(logarithm, NAN), logarithm);
}

Tensor linalg_tensorinv(const Tensor& self, int64_t ind) {
  TENON_CHECK(ind > 0, ValueError,
              "linalg.tensorinv: Expected a strictly positive integer for "
              "'ind', got ",
              ind);
  const int64_t n = self.dim();
  TENON_CHECK(ind <= n, ValueError, "linalg.tensorinv: 'ind' is ", ind, ", but self has ", n,
              " dimensions");
  const IntArrayRef sizes = self.sizes();
  const auto at = static_cast<std::size_t>(ind);
  std::vector<int64_t> shape(sizes.begin() + ind, sizes.end());
  shape.insert(shape.end(), sizes.begin(), sizes.begin() + ind);
  int64_t rows = 1, columns = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) (d < at ? rows : columns) *= sizes[d];
  TENON_CHECK(
      rows == columns, ValueError,
      "linalg.tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) == "
      "prod(self.shape[:ind]), but got ",
      columns, " != ", rows);
  auto [inverse, info] = tenon::linalg_inv_ex(self.reshape({rows, columns}));
  check_info("linalg.tensorinv", Factors::Inverse, info);
  return inverse.reshape(shape);
}

Tensor linalg_tensorsolve(const Tensor& self, const Tensor& other, OptionalIntArrayRef dims) {
  Tensor a = self;
  if (dims) {
    std::vector<int64_t> from(dims->begin(), dims->end()), to;
    for (std::size_t i = 0; i < from.size(); ++i)
      to.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(from.size()));
    a = tenon::movedim(self, from, to);
  }
  TENON_CHECK(a.dim() >= other.dim(), ValueError, "linalg.tensorsolve: self of shape ",
              self.sizes(), " has fewer dimensions than other of shape ", other.sizes());
  const std::vector<int64_t> shape(a.sizes().begin() + other.dim(), a.sizes().end());
  int64_t columns = 1;
  for (int64_t s : shape) columns *= s;
  const int64_t rows = other.numel();
  TENON_CHECK(a.numel() == rows * columns && rows == columns, ValueError,
              "linalg.tensorsolve: Expected self to satisfy the requirement "
              "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got ",
              columns, " != ", rows);
  return tenon::linalg_solve(a.reshape({rows, columns}), other.reshape({rows})).reshape(shape);
}

Two linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  check_inexact("linalg.cholesky_ex", self);
  check_square("linalg.cholesky", self);
  auto all = tenon::_factor_cholesky(self, upper);
  if (check_errors) check_info("linalg.cholesky_ex", Factors::Cholesky, std::get<1>(all));
  return all;
}

Tensor linalg_cholesky(const Tensor& self, bool upper) {
  auto [factor, info] = tenon::linalg_cholesky_ex(self, upper);
  check_info("linalg.cholesky", Factors::Cholesky, info);
  return factor;
}

namespace {

// L L^H X = B, or U^H U X = B, of equal batches.
Tensor solve_by_factor(const Tensor& b, const Tensor& factor, bool upper) {
  const Tensor h = adj(factor);
  const Tensor half = tenon::_solve_triangular(upper ? h : factor, b, false, false);
  return tenon::_solve_triangular(upper ? factor : h, half, true, false);
}

// The gradient by the factor is that of the product of whole matrices, as in torch: it has the
// other triangle, too, which is not read.
struct SolveByFactor : autograd::Function<SolveByFactor> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& b, const Tensor& factor,
                        bool upper) {
    const Tensor x = solve_by_factor(b, factor, upper);
    ctx->save_for_backward({factor, x});
    ctx->saved_data["upper"] = upper;
    return x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          const autograd::variable_list& grads) {
    const autograd::variable_list saved = ctx->get_saved_variables();
    const Tensor &factor = saved[0], &x = saved[1];
    const bool upper = ctx->saved_data.at("upper").toBool();
    const Tensor by_b = tenon::cholesky_solve(grads[0], factor, upper);
    const Tensor outer = tenon::matmul(by_b, adj(x)), both = outer + adj(outer);
    return {by_b, upper ? -tenon::matmul(factor, both) : -tenon::matmul(both, factor), Tensor()};
  }
};

}  // namespace

Tensor cholesky_solve(const Tensor& self, const Tensor& factor, bool upper) {
  const char* name = "cholesky_solve";
  check_inexact(name, factor);
  check_right_side(name, factor, self, true);
  const auto batch = common_batch(name, factor, self);
  const Tensor f = with_batch(factor, batch), b = with_batch(self, batch);
  return GradMode::is_enabled() && f.requires_grad() ? SolveByFactor::apply(b, f, upper)
                                                     : solve_by_factor(b, f, upper);
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_inexact("cholesky_inverse", self);
  check_square("cholesky_inverse", self);
  return tenon::cholesky_solve(identity(self.size(-1), self).expand(self.sizes()), self, upper);
}

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& b, bool upper, bool left,
                               bool unitriangular) {
  const char* name = "linalg.solve_triangular";
  check_inexact(name, self);
  check_right_side(name, self, b, left);
  const auto batch = common_batch(name, self, b);
  const Tensor a = with_batch(self, batch), right = with_batch(b, batch);
  if (left) return tenon::_solve_triangular(a, right, upper, unitriangular);
  // X A = B is A^T X^T = B^T.
  return tenon::_solve_triangular(a.transpose(-2, -1), right.transpose(-2, -1), !upper,
                                  unitriangular)
      .transpose(-2, -1);
}

Two triangular_solve(const Tensor& self, const Tensor& a, bool upper, bool transpose,
                     bool unitriangular) {
  const char* name = "triangular_solve";
  check_inexact(name, a);
  check_right_side(name, a, self, true);
  const auto batch = common_batch(name, a, self);
  const Tensor matrices = with_batch(a, batch), b = with_batch(self, batch);
  const Tensor x = tenon::_solve_triangular(transpose ? matrices.transpose(-2, -1) : matrices, b,
                                            upper != transpose, unitriangular);
  return {x, matrices.clone()};
}

Three linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  check_inexact("linalg.ldl_factor_ex", self);
  check_square("torch.linalg.ldl_factor_ex", self);
  auto all = tenon::_factor_ldl(self, hermitian);
  std::get<0>(all) = tenon::tril(std::get<0>(all));  // LAPACK leaves what was above
  if (check_errors) check_info("torch.linalg.ldl_factor_ex", Factors::Ldl, std::get<2>(all));
  return all;
}

Two linalg_ldl_factor(const Tensor& self, bool hermitian) {
  auto [LD, pivots, info] = tenon::linalg_ldl_factor_ex(self, hermitian);
  check_info("torch.linalg.ldl_factor", Factors::Ldl, info);
  return {LD, pivots};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const char* name = "linalg.ldl_solve";
  check_inexact(name, LD);
  check_right_side(name, LD, b, true);
  check_pivots(name, LD, pivots);
  const auto batch = common_batch(name, LD, b);
  return tenon::_solve_ldl(with_batch(LD, batch), pivots_with_batch(pivots, batch),
                           with_batch(b, batch), hermitian);
}

Two gesv(const Tensor& self, const Tensor& a) {
  auto [x, LU, pivots, info] = solve("gesv", a, self, true, true);
  return {x, LU};
}

Two gels(const Tensor& self, const Tensor& a) {
  check_matrices("gels", self, "self");
  check_matrices("gels", a);
  const Tensor x = std::get<0>(tenon::linalg_lstsq(a, self, std::nullopt, "gels"));
  const int64_t more = self.size(-2) - x.size(-2);
  const Tensor padded =
      more > 0 ? tenon::cat({x, tenon::zeros(batch_and(x, {more, x.size(-1)}), x.options())}, -2)
               : x;
  return {padded, std::get<0>(tenon::geqrf(a))};
}

}  // namespace tenon::composite
