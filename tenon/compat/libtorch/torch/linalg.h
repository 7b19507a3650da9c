// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torch::linalg: the operators linalg_*, without the prefix.
#pragma once

#include <torch/types.h>

namespace torch::linalg {

inline Tensor vector_norm(const Tensor& self, const Scalar& ord = 2,
                          OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                          std::optional<ScalarType> dtype = {}) {
  return torch::linalg_vector_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor& vector_norm_out(Tensor& out, const Tensor& self, const Scalar& ord = 2,
                               OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                               std::optional<ScalarType> dtype = {}) {
  return torch::linalg_vector_norm_out(out, self, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim = {-2, -1},
                          bool keepdim = false, std::optional<ScalarType> dtype = {}) {
  return torch::linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor& matrix_norm_out(Tensor& out, const Tensor& self, const Scalar& ord,
                               IntArrayRef dim = {-2, -1}, bool keepdim = false,
                               std::optional<ScalarType> dtype = {}) {
  return torch::linalg_matrix_norm_out(out, self, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& self, std::string_view ord, IntArrayRef dim = {-2, -1},
                          bool keepdim = false, std::optional<ScalarType> dtype = {}) {
  return torch::linalg_matrix_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor& matrix_norm_out(Tensor& out, const Tensor& self, std::string_view ord,
                               IntArrayRef dim = {-2, -1}, bool keepdim = false,
                               std::optional<ScalarType> dtype = {}) {
  return torch::linalg_matrix_norm_out(out, self, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Tensor& self, const std::optional<Scalar>& ord = {},
                   OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                   std::optional<ScalarType> dtype = {}) {
  return torch::linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor& norm_out(Tensor& out, const Tensor& self, const std::optional<Scalar>& ord = {},
                        OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                        std::optional<ScalarType> dtype = {}) {
  return torch::linalg_norm_out(out, self, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Tensor& self, std::string_view ord, OptionalIntArrayRef dim = std::nullopt,
                   bool keepdim = false, std::optional<ScalarType> dtype = {}) {
  return torch::linalg_norm(self, ord, dim, keepdim, dtype);
}
inline Tensor& norm_out(Tensor& out, const Tensor& self, std::string_view ord,
                        OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                        std::optional<ScalarType> dtype = {}) {
  return torch::linalg_norm_out(out, self, ord, dim, keepdim, dtype);
}
inline Tensor cross(const Tensor& self, const Tensor& other, int64_t dim = -1) {
  return torch::linalg_cross(self, other, dim);
}
inline Tensor& cross_out(Tensor& out, const Tensor& self, const Tensor& other, int64_t dim = -1) {
  return torch::linalg_cross_out(out, self, other, dim);
}
inline Tensor cond(const Tensor& self, const std::optional<Scalar>& p = {}) {
  return torch::linalg_cond(self, p);
}
inline Tensor& cond_out(Tensor& out, const Tensor& self, const std::optional<Scalar>& p = {}) {
  return torch::linalg_cond_out(out, self, p);
}
inline Tensor cond(const Tensor& self, std::string_view p) { return torch::linalg_cond(self, p); }
inline Tensor& cond_out(Tensor& out, const Tensor& self, std::string_view p) {
  return torch::linalg_cond_out(out, self, p);
}
inline Tensor diagonal(const Tensor& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return torch::linalg_diagonal(A, offset, dim1, dim2);
}
inline Tensor matmul(const Tensor& self, const Tensor& other) {
  return torch::linalg_matmul(self, other);
}
inline Tensor& matmul_out(Tensor& out, const Tensor& self, const Tensor& other) {
  return torch::linalg_matmul_out(out, self, other);
}
inline Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1) {
  return torch::linalg_vecdot(x, y, dim);
}
inline Tensor& vecdot_out(Tensor& out, const Tensor& x, const Tensor& y, int64_t dim = -1) {
  return torch::linalg_vecdot_out(out, x, y, dim);
}
inline Tensor vander(const Tensor& x, std::optional<int64_t> N = {}) {
  return torch::linalg_vander(x, N);
}
inline Tensor multi_dot(TensorList tensors) { return torch::linalg_multi_dot(tensors); }
inline Tensor& multi_dot_out(Tensor& out, TensorList tensors) {
  return torch::linalg_multi_dot_out(out, tensors);
}
inline Tensor matrix_power(const Tensor& self, int64_t n) {
  return torch::linalg_matrix_power(self, n);
}
inline Tensor& matrix_power_out(Tensor& out, const Tensor& self, int64_t n) {
  return torch::linalg_matrix_power_out(out, self, n);
}
inline Tensor householder_product(const Tensor& input, const Tensor& tau) {
  return torch::linalg_householder_product(input, tau);
}
inline Tensor& householder_product_out(Tensor& out, const Tensor& input, const Tensor& tau) {
  return torch::linalg_householder_product_out(out, input, tau);
}
inline std::tuple<Tensor, Tensor> qr(const Tensor& A, std::string_view mode = "reduced") {
  return torch::linalg_qr(A, mode);
}
inline std::tuple<Tensor&, Tensor&> qr_out(Tensor& out0, Tensor& out1, const Tensor& A,
                                           std::string_view mode = "reduced") {
  return torch::linalg_qr_out(out0, out1, A, mode);
}
inline Tensor matrix_exp(const Tensor& self) { return torch::linalg_matrix_exp(self); }
inline std::tuple<Tensor, Tensor, Tensor> lu_factor_ex(const Tensor& A, bool pivot = true,
                                                       bool check_errors = false) {
  return torch::linalg_lu_factor_ex(A, pivot, check_errors);
}
inline std::tuple<Tensor&, Tensor&, Tensor&> lu_factor_ex_out(Tensor& out0, Tensor& out1,
                                                              Tensor& out2, const Tensor& A,
                                                              bool pivot = true,
                                                              bool check_errors = false) {
  return torch::linalg_lu_factor_ex_out(out0, out1, out2, A, pivot, check_errors);
}
inline std::tuple<Tensor, Tensor> lu_factor(const Tensor& A, bool pivot = true) {
  return torch::linalg_lu_factor(A, pivot);
}
inline std::tuple<Tensor&, Tensor&> lu_factor_out(Tensor& out0, Tensor& out1, const Tensor& A,
                                                  bool pivot = true) {
  return torch::linalg_lu_factor_out(out0, out1, A, pivot);
}
inline std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& A, bool pivot = true) {
  return torch::linalg_lu(A, pivot);
}
inline std::tuple<Tensor&, Tensor&, Tensor&> lu_out(Tensor& out0, Tensor& out1, Tensor& out2,
                                                    const Tensor& A, bool pivot = true) {
  return torch::linalg_lu_out(out0, out1, out2, A, pivot);
}
inline Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left = true,
                       bool adjoint = false) {
  return torch::linalg_lu_solve(LU, pivots, B, left, adjoint);
}
inline Tensor& lu_solve_out(Tensor& out, const Tensor& LU, const Tensor& pivots, const Tensor& B,
                            bool left = true, bool adjoint = false) {
  return torch::linalg_lu_solve_out(out, LU, pivots, B, left, adjoint);
}
inline std::tuple<Tensor, Tensor> solve_ex(const Tensor& A, const Tensor& B, bool left = true,
                                           bool check_errors = false) {
  return torch::linalg_solve_ex(A, B, left, check_errors);
}
inline std::tuple<Tensor&, Tensor&> solve_ex_out(Tensor& out0, Tensor& out1, const Tensor& A,
                                                 const Tensor& B, bool left = true,
                                                 bool check_errors = false) {
  return torch::linalg_solve_ex_out(out0, out1, A, B, left, check_errors);
}
inline Tensor solve(const Tensor& A, const Tensor& B, bool left = true) {
  return torch::linalg_solve(A, B, left);
}
inline Tensor& solve_out(Tensor& out, const Tensor& A, const Tensor& B, bool left = true) {
  return torch::linalg_solve_out(out, A, B, left);
}
inline std::tuple<Tensor, Tensor> inv_ex(const Tensor& A, bool check_errors = false) {
  return torch::linalg_inv_ex(A, check_errors);
}
inline std::tuple<Tensor&, Tensor&> inv_ex_out(Tensor& out0, Tensor& out1, const Tensor& A,
                                               bool check_errors = false) {
  return torch::linalg_inv_ex_out(out0, out1, A, check_errors);
}
inline Tensor inv(const Tensor& A) { return torch::linalg_inv(A); }
inline Tensor& inv_out(Tensor& out, const Tensor& A) { return torch::linalg_inv_out(out, A); }
inline Tensor det(const Tensor& A) { return torch::linalg_det(A); }
inline Tensor& det_out(Tensor& out, const Tensor& A) { return torch::linalg_det_out(out, A); }
inline std::tuple<Tensor, Tensor> slogdet(const Tensor& A) { return torch::linalg_slogdet(A); }
inline std::tuple<Tensor&, Tensor&> slogdet_out(Tensor& out0, Tensor& out1, const Tensor& A) {
  return torch::linalg_slogdet_out(out0, out1, A);
}
inline Tensor tensorinv(const Tensor& self, int64_t ind = 2) {
  return torch::linalg_tensorinv(self, ind);
}
inline Tensor& tensorinv_out(Tensor& out, const Tensor& self, int64_t ind = 2) {
  return torch::linalg_tensorinv_out(out, self, ind);
}
inline Tensor tensorsolve(const Tensor& self, const Tensor& other,
                          OptionalIntArrayRef dims = std::nullopt) {
  return torch::linalg_tensorsolve(self, other, dims);
}
inline Tensor& tensorsolve_out(Tensor& out, const Tensor& self, const Tensor& other,
                               OptionalIntArrayRef dims = std::nullopt) {
  return torch::linalg_tensorsolve_out(out, self, other, dims);
}
inline std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& self, bool upper = false,
                                              bool check_errors = false) {
  return torch::linalg_cholesky_ex(self, upper, check_errors);
}
inline std::tuple<Tensor&, Tensor&> cholesky_ex_out(Tensor& out0, Tensor& out1, const Tensor& self,
                                                    bool upper = false, bool check_errors = false) {
  return torch::linalg_cholesky_ex_out(out0, out1, self, upper, check_errors);
}
inline Tensor cholesky(const Tensor& self, bool upper = false) {
  return torch::linalg_cholesky(self, upper);
}
inline Tensor& cholesky_out(Tensor& out, const Tensor& self, bool upper = false) {
  return torch::linalg_cholesky_out(out, self, upper);
}
inline Tensor solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left = true,
                               bool unitriangular = false) {
  return torch::linalg_solve_triangular(self, B, upper, left, unitriangular);
}
inline Tensor& solve_triangular_out(Tensor& out, const Tensor& self, const Tensor& B, bool upper,
                                    bool left = true, bool unitriangular = false) {
  return torch::linalg_solve_triangular_out(out, self, B, upper, left, unitriangular);
}
inline std::tuple<Tensor, Tensor, Tensor> ldl_factor_ex(const Tensor& self, bool hermitian = false,
                                                        bool check_errors = false) {
  return torch::linalg_ldl_factor_ex(self, hermitian, check_errors);
}
inline std::tuple<Tensor&, Tensor&, Tensor&> ldl_factor_ex_out(Tensor& out0, Tensor& out1,
                                                               Tensor& out2, const Tensor& self,
                                                               bool hermitian = false,
                                                               bool check_errors = false) {
  return torch::linalg_ldl_factor_ex_out(out0, out1, out2, self, hermitian, check_errors);
}
inline std::tuple<Tensor, Tensor> ldl_factor(const Tensor& self, bool hermitian = false) {
  return torch::linalg_ldl_factor(self, hermitian);
}
inline std::tuple<Tensor&, Tensor&> ldl_factor_out(Tensor& out0, Tensor& out1, const Tensor& self,
                                                   bool hermitian = false) {
  return torch::linalg_ldl_factor_out(out0, out1, self, hermitian);
}
inline Tensor ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B,
                        bool hermitian = false) {
  return torch::linalg_ldl_solve(LD, pivots, B, hermitian);
}
inline Tensor& ldl_solve_out(Tensor& out, const Tensor& LD, const Tensor& pivots, const Tensor& B,
                             bool hermitian = false) {
  return torch::linalg_ldl_solve_out(out, LD, pivots, B, hermitian);
}
inline std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(
    const Tensor& self, const Tensor& b, std::optional<double> rcond = {},
    std::optional<std::string_view> driver = {}) {
  return torch::linalg_lstsq(self, b, rcond, driver);
}
inline std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> lstsq_out(
    Tensor& out0, Tensor& out1, Tensor& out2, Tensor& out3, const Tensor& self, const Tensor& b,
    std::optional<double> rcond = {}, std::optional<std::string_view> driver = {}) {
  return torch::linalg_lstsq_out(out0, out1, out2, out3, self, b, rcond, driver);
}
inline std::tuple<Tensor, Tensor> eigh(const Tensor& self, std::string_view UPLO = "L") {
  return torch::linalg_eigh(self, UPLO);
}
inline std::tuple<Tensor&, Tensor&> eigh_out(Tensor& out0, Tensor& out1, const Tensor& self,
                                             std::string_view UPLO = "L") {
  return torch::linalg_eigh_out(out0, out1, self, UPLO);
}
inline Tensor eigvalsh(const Tensor& self, std::string_view UPLO = "L") {
  return torch::linalg_eigvalsh(self, UPLO);
}
inline Tensor& eigvalsh_out(Tensor& out, const Tensor& self, std::string_view UPLO = "L") {
  return torch::linalg_eigvalsh_out(out, self, UPLO);
}
inline std::tuple<Tensor, Tensor> eig(const Tensor& self) { return torch::linalg_eig(self); }
inline std::tuple<Tensor&, Tensor&> eig_out(Tensor& out0, Tensor& out1, const Tensor& self) {
  return torch::linalg_eig_out(out0, out1, self);
}
inline Tensor eigvals(const Tensor& self) { return torch::linalg_eigvals(self); }
inline Tensor& eigvals_out(Tensor& out, const Tensor& self) {
  return torch::linalg_eigvals_out(out, self);
}
inline std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& A, bool full_matrices = true,
                                              std::optional<std::string_view> driver = {}) {
  return torch::linalg_svd(A, full_matrices, driver);
}
inline std::tuple<Tensor&, Tensor&, Tensor&> svd_out(Tensor& out0, Tensor& out1, Tensor& out2,
                                                     const Tensor& A, bool full_matrices = true,
                                                     std::optional<std::string_view> driver = {}) {
  return torch::linalg_svd_out(out0, out1, out2, A, full_matrices, driver);
}
inline Tensor svdvals(const Tensor& A, std::optional<std::string_view> driver = {}) {
  return torch::linalg_svdvals(A, driver);
}
inline Tensor& svdvals_out(Tensor& out, const Tensor& A,
                           std::optional<std::string_view> driver = {}) {
  return torch::linalg_svdvals_out(out, A, driver);
}
inline Tensor pinv(const Tensor& self, const std::optional<Tensor>& atol = {},
                   const std::optional<Tensor>& rtol = {}, bool hermitian = false) {
  return torch::linalg_pinv(self, atol, rtol, hermitian);
}
inline Tensor& pinv_out(Tensor& out, const Tensor& self, const std::optional<Tensor>& atol = {},
                        const std::optional<Tensor>& rtol = {}, bool hermitian = false) {
  return torch::linalg_pinv_out(out, self, atol, rtol, hermitian);
}
inline Tensor pinv(const Tensor& self, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian = false) {
  return torch::linalg_pinv(self, atol, rtol, hermitian);
}
inline Tensor& pinv_out(Tensor& out, const Tensor& self, std::optional<double> atol,
                        std::optional<double> rtol, bool hermitian = false) {
  return torch::linalg_pinv_out(out, self, atol, rtol, hermitian);
}
inline Tensor pinv(const Tensor& self, double rcond, bool hermitian = false) {
  return torch::linalg_pinv(self, rcond, hermitian);
}
inline Tensor& pinv_out(Tensor& out, const Tensor& self, double rcond, bool hermitian = false) {
  return torch::linalg_pinv_out(out, self, rcond, hermitian);
}
inline Tensor pinv(const Tensor& self, const Tensor& rcond, bool hermitian = false) {
  return torch::linalg_pinv(self, rcond, hermitian);
}
inline Tensor& pinv_out(Tensor& out, const Tensor& self, const Tensor& rcond,
                        bool hermitian = false) {
  return torch::linalg_pinv_out(out, self, rcond, hermitian);
}
inline Tensor matrix_rank(const Tensor& input, const std::optional<Tensor>& atol = {},
                          const std::optional<Tensor>& rtol = {}, bool hermitian = false) {
  return torch::linalg_matrix_rank(input, atol, rtol, hermitian);
}
inline Tensor& matrix_rank_out(Tensor& out, const Tensor& input,
                               const std::optional<Tensor>& atol = {},
                               const std::optional<Tensor>& rtol = {}, bool hermitian = false) {
  return torch::linalg_matrix_rank_out(out, input, atol, rtol, hermitian);
}
inline Tensor matrix_rank(const Tensor& self, std::optional<double> atol,
                          std::optional<double> rtol, bool hermitian = false) {
  return torch::linalg_matrix_rank(self, atol, rtol, hermitian);
}
inline Tensor& matrix_rank_out(Tensor& out, const Tensor& self, std::optional<double> atol,
                               std::optional<double> rtol, bool hermitian = false) {
  return torch::linalg_matrix_rank_out(out, self, atol, rtol, hermitian);
}
inline Tensor matrix_rank(const Tensor& self, double tol, bool hermitian = false) {
  return torch::linalg_matrix_rank(self, tol, hermitian);
}
inline Tensor& matrix_rank_out(Tensor& out, const Tensor& self, double tol,
                               bool hermitian = false) {
  return torch::linalg_matrix_rank_out(out, self, tol, hermitian);
}
inline Tensor matrix_rank(const Tensor& input, const Tensor& tol, bool hermitian = false) {
  return torch::linalg_matrix_rank(input, tol, hermitian);
}
inline Tensor& matrix_rank_out(Tensor& out, const Tensor& input, const Tensor& tol,
                               bool hermitian = false) {
  return torch::linalg_matrix_rank_out(out, input, tol, hermitian);
}

}  // namespace torch::linalg
