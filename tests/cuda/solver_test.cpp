// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Factorizations by cuSOLVER and cuBLAS, against the CPU's; nothing goes through the host.
#include "tenon/core/dispatch.h"
#include "tests/cuda/fault.h"
#include "tests/cuda/support.h"

namespace tenon::test {
namespace {

class CudaSolver : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    manual_seed(5);
    core::reset_fallback_counts();
  }
  void TearDown() override {
    for (const core::FallbackCount& c : core::fallback_counts()) {
      const bool factors = c.op.front() == '_' || c.op == "geqrf" || c.op == "ormqr" ||
                           c.op == "linalg_householder_product";
      EXPECT_FALSE(factors && std::string_view(core::toString(c.by)) == "staged")
          << c.op << ": " << c.reason;
    }
    Cuda::TearDown();
  }
};

constexpr ScalarType kDtypes[] = {kFloat, kDouble, kComplexFloat, kComplexDouble};

// The largest difference, relative to the largest element.
double off_by(const Tensor& a, const Tensor& b) {
  const double largest = b.numel() ? b.abs().max().item().to<double>() : 0;
  const double difference = b.numel() ? (a - b).abs().max().item().to<double>() : 0;
  return difference / std::max(largest, 1e-30);
}
double tolerance(ScalarType d) { return toRealValueType(d) == kFloat ? 2e-4 : 1e-11; }

void expect_near(const Tensor& device, const Tensor& host, const char* what) {
  ASSERT_EQ(device.sizes(), host.sizes()) << what;
  EXPECT_LE(off_by(device.cpu(), host), tolerance(host.scalar_type()))
      << what << " of " << toString(host.scalar_type());
}

using Shapes = std::vector<std::vector<int64_t>>;
Tensor square(IntArrayRef batch_and_side, ScalarType d) {
  const Tensor a = randn(batch_and_side, d);
  return a + 3 * eye(batch_and_side.back(), TensorOptions(d));
}
Tensor hermitian(IntArrayRef sizes, ScalarType d) {
  const Tensor a = randn(sizes, d);
  return matmul(a, a.mH()) + eye(sizes.back(), TensorOptions(d));
}

TEST_F(CudaSolver, LuAndItsSolutionsOfOneMatrixAndOfBatches) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{5, 5}, {3, 4, 4}, {2, 3, 6, 6}, {1, 1}}) {
      const Tensor a = square(sizes, d), there = a.to(kCUDA);
      auto right = sizes;
      right.back() = 3;
      const Tensor b = randn(right, d);
      const auto host = linalg_lu_factor(a);
      const auto device = linalg_lu_factor(there);
      expect_near(std::get<0>(device), std::get<0>(host), "LU");
      EXPECT_TRUE(equal(std::get<1>(device).cpu(), std::get<1>(host)));
      expect_near(linalg_solve(there, b.to(kCUDA)), linalg_solve(a, b), "solve");
      for (const bool adjoint : {false, true})
        expect_near(
            linalg_lu_solve(std::get<0>(device), std::get<1>(device), b.to(kCUDA), true, adjoint),
            linalg_lu_solve(std::get<0>(host), std::get<1>(host), b, true, adjoint), "lu_solve");
      expect_near(linalg_inv(there), linalg_inv(a), "inv");
      expect_near(linalg_det(there), linalg_det(a), "det");
    }
    for (const auto& sizes : Shapes{{5, 3}, {2, 3, 5}}) {  // no squares: cuSOLVER one by one
      const Tensor a = randn(sizes, d);
      const auto host = linalg_lu(a), device = linalg_lu(a.to(kCUDA));
      expect_near(std::get<0>(device), std::get<0>(host), "P");
      expect_near(std::get<1>(device), std::get<1>(host), "L");
      expect_near(std::get<2>(device), std::get<2>(host), "U");
    }
  }
}

TEST_F(CudaSolver, CholeskyOfBothTriangles) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{4, 4}, {3, 5, 5}}) {
      const Tensor a = hermitian(sizes, d);
      for (const bool upper : {false, true})
        expect_near(linalg_cholesky(a.to(kCUDA), upper), linalg_cholesky(a, upper), "cholesky");
    }
  }
  const Tensor bad = -eye(3).to(kCUDA);
  EXPECT_EQ(std::get<1>(linalg_cholesky_ex(bad)).item<int>(), 1);
}

TEST_F(CudaSolver, TrianglesOfAllKinds) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{4, 4}, {3, 5, 5}}) {
      const Tensor a = square(sizes, d);
      auto right = sizes;
      right.back() = 2;
      const Tensor b = randn(right, d);
      for (int kind = 0; kind < 4; ++kind) {
        const bool upper = kind & 1, unit = kind & 2;
        expect_near(linalg_solve_triangular(a.to(kCUDA), b.to(kCUDA), upper, true, unit),
                    linalg_solve_triangular(a, b, upper, true, unit), "solve_triangular");
      }
    }
  }
}

TEST_F(CudaSolver, ReflectorsAndTheirProducts) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{5, 3}, {3, 5}, {2, 4, 3}}) {
      const Tensor a = randn(sizes, d);
      const auto host = geqrf(a), device = geqrf(a.to(kCUDA));
      expect_near(std::get<0>(device), std::get<0>(host), "geqrf");
      expect_near(std::get<1>(device), std::get<1>(host), "tau");
      const auto qr = linalg_qr(a), qr_there = linalg_qr(a.to(kCUDA), "reduced");
      expect_near(std::get<0>(qr_there), std::get<0>(qr), "Q");
      expect_near(std::get<1>(qr_there), std::get<1>(qr), "R");
    }
    const auto host = geqrf(randn({5, 3}, d));
    const Tensor tau = std::get<1>(host), v = std::get<0>(host);
    for (int kind = 0; kind < 4; ++kind) {
      const bool left = kind & 1, transpose = kind & 2;
      const Tensor c = left ? randn({5, 2}, d) : randn({2, 5}, d);
      expect_near(ormqr(v.to(kCUDA), tau.to(kCUDA), c.to(kCUDA), left, transpose),
                  ormqr(v, tau, c, left, transpose), "ormqr");
    }
  }
}

TEST_F(CudaSolver, EigenvaluesAndSingularValues) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{4, 4}, {2, 5, 5}}) {
      const Tensor a = hermitian(sizes, d);
      const auto host = linalg_eigh(a), device = linalg_eigh(a.to(kCUDA));
      expect_near(std::get<0>(device), std::get<0>(host), "eigenvalues");
      const Tensor v = std::get<1>(device).cpu();
      expect_near(matmul(v * std::get<0>(host).unsqueeze(-2).to(d), v.mH()), a, "V L V^H");
      expect_near(linalg_eigvalsh(a.to(kCUDA), "U"), linalg_eigvalsh(a, "U"), "eigvalsh");
    }
    for (const auto& sizes : Shapes{{5, 3}, {3, 5}, {2, 4, 3}, {2, 3, 4}}) {
      const Tensor a = randn(sizes, d);
      expect_near(linalg_svdvals(a.to(kCUDA)), linalg_svdvals(a), "svdvals");
      for (const bool full : {false, true}) {
        const auto host = linalg_svd(a, full), device = linalg_svd(a.to(kCUDA), full);
        ASSERT_EQ(std::get<0>(device).sizes(), std::get<0>(host).sizes());
        ASSERT_EQ(std::get<2>(device).sizes(), std::get<2>(host).sizes());
        const int64_t k = std::min(sizes.back(), sizes[sizes.size() - 2]);
        const Tensor u = std::get<0>(device).cpu(), v = std::get<2>(device).cpu();
        const Tensor s = std::get<1>(device).cpu().unsqueeze(-2).to(d);
        expect_near(matmul(u.narrow(-1, 0, k) * s, v.narrow(-2, 0, k)), a, "U S V^H");
        const Tensor one = matmul(u.mH(), u);
        expect_near(one, eye(u.size(-1), TensorOptions(d)).expand(one.sizes()), "U^H U");
      }
    }
  }
}

// Eigenvectors are those of norm 1 whose largest element is real, as LAPACK's.
TEST_F(CudaSolver, EigenvaluesOfGeneralMatrices) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{5, 5}, {3, 4, 4}, {2, 3, 6, 6}, {1, 1}}) {
      const Tensor a = randn(sizes, d), there = a.to(kCUDA);
      const auto host = linalg_eig(a), device = linalg_eig(there);
      const Tensor values = std::get<0>(device).cpu(), v = std::get<1>(device).cpu();
      expect_near(std::get<0>(device), std::get<0>(host), "eigenvalues");
      expect_near(std::get<1>(device), std::get<1>(host), "eigenvectors");
      expect_near(matmul(a.to(values.scalar_type()), v), v * values.unsqueeze(-2), "A V");
      expect_near(linalg_eigvals(there), linalg_eigvals(a), "eigvals");
    }
  }
  const Tensor turn = tensor({0., 1., -1., 0.}).view({2, 2});  // a conjugate pair
  EXPECT_LE(off_by(linalg_eigvals(turn.to(kCUDA)).cpu(), linalg_eigvals(turn)), 1e-11);
}

// As on the host: info is the number of rows, and the other matrices of the batch are solved.
TEST_F(CudaSolver, EigenvaluesOfMatricesThatAreNotFinite) {
  for (const ScalarType d : kDtypes) {
    Tensor a = randn({3, 4, 4}, d);
    a[1][2][3] = std::numeric_limits<double>::quiet_NaN();
    const auto host = _factor_eig(a, true), device = _factor_eig(a.to(kCUDA), true);
    EXPECT_TRUE(equal(std::get<2>(device).cpu(), std::get<2>(host)));
    EXPECT_EQ(std::get<2>(host)[1].item<int>(), 4);
    for (const int64_t b : {0, 2})
      expect_near(std::get<0>(device)[b], std::get<0>(host)[b], "eigenvalues");
    EXPECT_THROW(linalg_eig(a.to(kCUDA)), LinAlgError);
  }
  const auto none = linalg_eig(zeros({2, 0, 0}).to(kCUDA));
  EXPECT_EQ(std::get<0>(none).sizes(), IntArrayRef({2, 0}));
}

// The lower triangle alone is read.
TEST_F(CudaSolver, LdlFactorsAndTheirSolutions) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{5, 5}, {3, 4, 4}, {2, 3, 6, 6}, {1, 1}}) {
      const Tensor x = randn(sizes, d), a = x + x.mT();
      auto right = sizes;
      right.back() = 3;
      const Tensor b = randn(right, d);
      const auto host = linalg_ldl_factor(a), device = linalg_ldl_factor(a.to(kCUDA));
      expect_near(std::get<0>(device), std::get<0>(host), "LD");
      EXPECT_TRUE(equal(std::get<1>(device).cpu(), std::get<1>(host)));
      const Tensor y = linalg_ldl_solve(std::get<0>(device), std::get<1>(device), b.to(kCUDA));
      expect_near(y, linalg_ldl_solve(std::get<0>(host), std::get<1>(host), b), "ldl_solve");
      expect_near(matmul(a, y.cpu()), b, "A X");
    }
  }
  const Tensor singular = zeros({2, 3, 3}).to(kCUDA);  // the first pivot is zero
  EXPECT_TRUE(equal(std::get<2>(linalg_ldl_factor_ex(singular)).cpu(), ones({2}, kInt)));
  EXPECT_EQ(std::get<1>(linalg_ldl_factor(zeros({2, 0, 0}).to(kCUDA))).sizes(),
            IntArrayRef({2, 0}));
}

// Blocks of two rows, of which each half is read.
TEST_F(CudaSolver, LdlPivotsThatAreNoBlocksAreRefused) {
  const Tensor ld = eye(3), b = ones({3, 1});
  for (const auto& wrong : Shapes{{0, 2, 3}, {1, 2, 9}, {1, 2, -3}, {-2, -9, 3}, {-2, 1, 3}}) {
    const Tensor pivots = tensor(wrong).to(kInt);
    EXPECT_THROW(linalg_ldl_solve(ld.to(kCUDA), pivots.to(kCUDA), b.to(kCUDA)).cpu(), ValueError)
        << pivots;
  }
  EXPECT_TRUE(equal(linalg_solve(ld.to(kCUDA), b.to(kCUDA)).cpu(), b));
}

// Of full rank, where all drivers agree; residuals are orthogonal to the columns.
TEST_F(CudaSolver, LeastSquaresByAllDrivers) {
  for (const ScalarType d : kDtypes) {
    for (const auto& sizes : Shapes{{6, 3}, {3, 6}, {4, 4}, {2, 5, 3}, {2, 3, 5}}) {
      auto right = sizes;
      right.back() = 2;
      const Tensor a = randn(sizes, d), b = randn(right, d);
      for (const char* driver : {"gels", "gelsy", "gelsd", "gelss"}) {
        const auto host = linalg_lstsq(a, b, std::nullopt, driver),
                   device = linalg_lstsq(a.to(kCUDA), b.to(kCUDA), std::nullopt, driver);
        const Tensor x = std::get<0>(device).cpu();
        expect_near(std::get<0>(device), std::get<0>(host), driver);
        expect_near(std::get<1>(device), std::get<1>(host), driver);
        EXPECT_TRUE(equal(std::get<2>(device).cpu(), std::get<2>(host))) << driver;
        expect_near(std::get<3>(device), std::get<3>(host), driver);
        const Tensor off = matmul(a.mH(), matmul(a, x) - b);
        EXPECT_LE(off.abs().max().item<double>(), 100 * tolerance(d)) << driver;
      }
    }
  }
}

TEST_F(CudaSolver, LeastSquaresOfLessThanFullRank) {
  const Tensor left = randn({2, 6, 2}, kDouble), b = randn({2, 6, 2}, kDouble);
  const Tensor a = matmul(left, randn({2, 2, 4}, kDouble));
  for (const Tensor& of : {a, zeros_like(a), a.mT().contiguous()}) {
    const Tensor right = of.size(-2) == 6 ? b : b.narrow(-2, 0, 4);
    for (const char* driver : {"gelsy", "gelsd", "gelss"}) {
      const auto host = linalg_lstsq(of, right, 1e-10, driver),
                 device = linalg_lstsq(of.to(kCUDA), right.to(kCUDA), 1e-10, driver);
      expect_near(std::get<0>(device), std::get<0>(host), driver);
      EXPECT_EQ(std::get<1>(device).sizes(), std::get<1>(host).sizes()) << driver;
      EXPECT_TRUE(equal(std::get<2>(device).cpu(), std::get<2>(host))) << driver;
      expect_near(std::get<3>(device), std::get<3>(host), driver);
    }
  }
}

// What LAPACK says of the triangle, of zeros and of NaN.
TEST_F(CudaSolver, LeastSquaresThatHaveNoSolution) {
  Tensor a = randn({4, 5, 3}, kDouble);
  a[1].zero_();
  a[2][3][1] = std::numeric_limits<double>::infinity();
  a[3].select(-1, 1).zero_();
  const Tensor b = randn({4, 5, 2}, kDouble);
  for (const char* driver : {"gels", "gelsy", "gelss"}) {
    const auto host = _factor_lstsq(a, b, std::nullopt, driver),
               device = _factor_lstsq(a.to(kCUDA), b.to(kCUDA), std::nullopt, driver);
    EXPECT_TRUE(equal(std::get<4>(device).cpu(), std::get<4>(host))) << driver;
    EXPECT_TRUE(equal(std::get<2>(device).cpu(), std::get<2>(host))) << driver;
    expect_near(std::get<3>(device), std::get<3>(host), driver);
    expect_near(std::get<0>(device)[0], std::get<0>(host)[0], driver);
    EXPECT_TRUE(equal(std::get<0>(device)[1].cpu(), zeros({3, 2}, kDouble))) << driver;
    EXPECT_TRUE(std::get<0>(device)[2].isnan().all().item<bool>()) << driver;
  }
  EXPECT_EQ(std::get<4>(_factor_lstsq(a, b, std::nullopt, "gels"))[3].item<int>(), 2);
}

// Matrices without elements, of either operand.
TEST_F(CudaSolver, LeastSquaresOfNothing) {
  for (const auto& [m, n, c] : {std::array{5, 0, 2}, {0, 3, 2}, {4, 3, 0}, {0, 0, 1}}) {
    const Tensor a = ones({2, m, n}), b = ones({2, m, c});
    for (const char* driver : {"gels", "gelsy", "gelsd"}) {
      const auto host = linalg_lstsq(a, b, std::nullopt, driver),
                 device = linalg_lstsq(a.to(kCUDA), b.to(kCUDA), std::nullopt, driver);
      EXPECT_TRUE(equal(std::get<0>(device).cpu(), std::get<0>(host))) << driver << m << n << c;
      EXPECT_TRUE(equal(std::get<1>(device).cpu(), std::get<1>(host))) << driver << m << n << c;
      EXPECT_TRUE(equal(std::get<2>(device).cpu(), std::get<2>(host))) << driver << m << n << c;
      EXPECT_TRUE(equal(std::get<3>(device).cpu(), std::get<3>(host))) << driver << m << n << c;
    }
  }
}

TEST_F(CudaSolver, EachCallFailsOnce) {
  const Tensor host = square({2, 4, 4}, kDouble), sides = ones({2, 4, 2}, kDouble);
  const Tensor a = host.to(kCUDA), b = sides.to(kCUDA);
  const auto [LD, pivots] = linalg_ldl_factor(host);
  const Tensor values = linalg_eigvals(host), x = linalg_ldl_solve(LD, pivots, sides);
  const auto work = [&] {
    const auto [LD_there, pivots_there] = linalg_ldl_factor(a);
    expect_near(linalg_ldl_solve(LD_there, pivots_there, b), x, "ldl_solve");
    expect_near(std::get<0>(linalg_eig(a)), values, "eigenvalues");
  };
  EXPECT_GE(each_call_fails_once(cudaErrorInvalidValue, work), 40);
}

// A pivot outside of the matrix is reported, and harms nothing.
TEST_F(CudaSolver, PivotsOutsideOfTheMatrixAreRefused) {
  const Tensor lu = eye(3).to(kCUDA), b = ones({3, 1}).to(kCUDA);
  const Tensor pivots = tensor({1, 9, 3}, kInt).to(kCUDA);
  EXPECT_THROW(linalg_lu_solve(lu, pivots, b).cpu(), ValueError);
  EXPECT_TRUE(equal(linalg_solve(lu, b).cpu(), ones({3, 1})));
}

// Tall, wide, square, of lower rank, with a zero column.
TEST_F(CudaSolver, QOfTwentyShapesIsOrthogonal) {
  int shapes = 0;
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {1, 7}, {7, 1}, {5, 5}, {9, 4}, {4, 9}, {33, 17}, {17, 33}, {40, 40}, {64, 3}}) {
    const int64_t k = std::min(rows, columns), rank = std::max<int64_t>(1, k / 2);
    Tensor thin = matmul(randn({rows, rank}, kDouble), randn({rank, columns}, kDouble));
    if (columns > 1) thin.select(1, columns / 2).fill_(0);
    for (const Tensor& a : {randn({rows, columns}, kDouble), thin}) {
      const auto [q, r] = linalg_qr(a.to(kCUDA));
      EXPECT_LT((matmul(q, r).cpu() - a).norm().item<double>(), 1e-4) << rows << "x" << columns;
      const Tensor gram = matmul(q.t(), q).cpu();
      EXPECT_LT((gram - eye(k, TensorOptions(kDouble))).norm().item<double>(), 1e-4)
          << rows << "x" << columns;
      ++shapes;
    }
  }
  EXPECT_EQ(shapes, 20);
}

// A test of its own runs these, with a cuSOLVER that has no geev.
class CudaOlderLibraries : public Cuda {};

TEST_F(CudaOlderLibraries, EigenvaluesOfGeneralMatricesGoThroughTheHost) {
  core::reset_fallback_counts();
  const Tensor a = randn({2, 4, 4}, kDouble);
  expect_near(linalg_eigvals(a.to(kCUDA)), linalg_eigvals(a), "eigvals");
  expect_near(linalg_svdvals(a.to(kCUDA)), linalg_svdvals(a), "svdvals");
  std::string staged;
  for (const core::FallbackCount& c : core::fallback_counts())
    if (c.op.front() == '_' && core::toString(c.by) == std::string_view("staged")) staged += c.op;
  EXPECT_EQ(staged, "_factor_eig");
}

// A test of its own runs these, without cuSOLVER.
class CudaNoSolver : public Cuda {};

TEST_F(CudaNoSolver, InversesSolutionsAndTheirGradients) {
  core::reset_fallback_counts();
  for (const ScalarType d : {kFloat, kDouble, kComplexDouble}) {
    const Tensor a = square({2, 5, 5}, d).requires_grad_(), there = a.detach().to(kCUDA);
    there.requires_grad_();
    const Tensor b = randn({2, 5, 3}, d), grad = randn({2, 5, 5}, d);
    const Tensor host = linalg_inv(a), device = linalg_inv(there);
    expect_near(device.detach(), host.detach(), "inv");
    host.backward(grad);
    device.backward(grad.to(kCUDA));
    expect_near(there.grad(), a.grad(), "gradient of inv");
    const NoGradGuard none;
    expect_near(linalg_solve(there, b.to(kCUDA)), linalg_solve(a, b), "solve");
    expect_near(std::get<1>(linalg_qr(there)), std::get<1>(linalg_qr(a)), "R");
    EXPECT_THROW(linalg_inv(zeros({3, 3}, TensorOptions(d).device(kCUDA))), LinAlgError);
  }
  bool staged = false;
  for (const core::FallbackCount& c : core::fallback_counts())
    staged = staged || std::string_view(core::toString(c.by)) == "staged";
  EXPECT_TRUE(staged) << "cuSOLVER was found";
}

}  // namespace
}  // namespace tenon::test
