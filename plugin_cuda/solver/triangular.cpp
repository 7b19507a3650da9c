// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LU and Cholesky factorizations, and equations solved with them. Batches of small matrices go to
// cuBLAS in one call, larger ones to cuSOLVER one after the other.
#include <vector>

#include "plugin_cuda/solver/libraries.h"
#include "plugin_cuda/solver/matrices.h"
#include "tenon/sdk/ops/_factor_cholesky.h"
#include "tenon/sdk/ops/_factor_lu.h"
#include "tenon/sdk/ops/_solve_lu.h"
#include "tenon/sdk/ops/_solve_triangular.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Above it a matrix alone fills the device.
constexpr int64_t kMaxBatchedSide = 512;

bool is_batched(const Matrices& m) {
  return m.count > 1 && m.rows == m.columns && m.rows <= kMaxBatchedSide;
}

// The buffers that a routine of cuSOLVER works in.
struct Work {
  std::size_t device = 0, host = 0;
};

// The parts of a factorization's workspace.
struct LuRoom {
  Room room;
  Work work;
  uint64_t columns, pivots = 0, buffer = 0, addresses = 0;

  LuRoom(const Tensor& self, const SolverSession& on) {
    const Matrices m(self);
    const cudaDataType_t type = solver_type(self.dtype());
    columns = room.add(self.numel() * item_size(self.dtype()));
    if (is_batched(m)) {
      addresses = room.add(m.count * static_cast<int64_t>(sizeof(void*)));
      return;
    }
    SOLVER_CALL(on.index(), cusolverDnXgetrf_bufferSize, on.solver(), on.params(), m.rows,
                m.columns, type, nullptr, m.lead(), type, &work.device, &work.host);
    pivots = room.add(m.count * m.shorter() * 8);
    buffer = room.add(static_cast<int64_t>(work.device));
  }
};

tn_status lu_workspace(tn_call* c, uint64_t* bytes) {
  return solver_workspace(
      c, bytes, [&](const Tensor& self, const SolverSession& on) { return LuRoom(self, on).room; });
}

void factor_batch(const Call& call, const SolverSession& on, const LuRoom& room, const Tensor& self,
                  int32_t* pivots, int32_t* info) {
  const Matrices m(self);
  char* memory = call.workspace<char>();
  auto** addresses = reinterpret_cast<void**>(memory + room.addresses);
  write_addresses(call, addresses, memory + room.columns, m.elements() * item_size(self.dtype()),
                  m.count);
  dispatch_solver(self.dtype(), [&](auto type) {
    using T = decltype(type);
    check_solver(SolverRoutines<T>::getrf_batched()(
                     on.blas(), solver_int(m.rows), reinterpret_cast<T**>(addresses),
                     solver_int(m.lead()), pivots, info, solver_int(m.count)),
                 "cublas<t>getrfBatched", on.index());
  });
}

void factor_each(const Call& call, const SolverSession& on, const LuRoom& room, const Tensor& self,
                 int32_t* pivots, int32_t* info) {
  const Matrices m(self);
  char* memory = call.workspace<char>();
  auto* wide = reinterpret_cast<int64_t*>(memory + room.pivots);
  const cudaDataType_t type = solver_type(self.dtype());
  std::vector<char> host(room.work.host + 1);
  for (int64_t b = 0; b < m.count; ++b) {
    SOLVER_CALL(on.index(), cusolverDnXgetrf, on.solver(), on.params(), m.rows, m.columns, type,
                matrix_at(memory + room.columns, self.dtype(), m.elements(), b), m.lead(),
                wide + b * m.shorter(), type, memory + room.buffer, room.work.device, host.data(),
                room.work.host, info + b);
  }
  narrow_pivots(call, wide, pivots, m.count * m.shorter());
}

tn_status factor_lu(Call& call, Tensor LU, Tensor pivots, Tensor info, Tensor self) {
  if (self.numel() == 0) {
    fill_bytes(call, info.data<char>(), info.numel() * 4, 0);
    return TN_OK;
  }
  if (!solver_libraries()) return TN_DECLINED;
  const SolverSession on(self, call.stream());
  const LuRoom room(self, on);
  char* columns = call.workspace<char>() + room.columns;
  to_columns(call, self, columns);
  const auto factor = is_batched(Matrices(self)) ? factor_batch : factor_each;
  factor(call, on, room, self, pivots.data<int32_t>(), info.data<int32_t>());
  to_rows(call, columns, LU);
  return TN_OK;
}

// Row-major memory read by columns is the transposed matrix, so that its upper triangle is our
// lower one; and U^H U = conj(A) there is L L^H = A here.
struct CholeskyRoom {
  Room room;
  Work work;
  uint64_t buffer;

  CholeskyRoom(const Tensor& self, const SolverSession& on, cublasFillMode_t triangle) {
    const Matrices m(self);
    const cudaDataType_t type = solver_type(self.dtype());
    SOLVER_CALL(on.index(), cusolverDnXpotrf_bufferSize, on.solver(), on.params(), triangle, m.rows,
                type, nullptr, m.lead(), type, &work.device, &work.host);
    buffer = room.add(static_cast<int64_t>(work.device));
  }
};

cublasFillMode_t mirrored(bool upper) {
  return upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

tn_status cholesky_workspace(tn_call* c, uint64_t* bytes) {
  return solver_workspace(c, bytes, [&](const Tensor& self, const SolverSession& on) {
    return CholeskyRoom(self, on, mirrored(c->in[1].u.i64 != 0)).room;
  });
}

tn_status factor_cholesky(Call& call, Tensor L, Tensor info, Tensor self, bool upper) {
  if (self.numel() == 0) {
    fill_bytes(call, info.data<char>(), info.numel() * 4, 0);
    return TN_OK;
  }
  if (!solver_libraries()) return TN_DECLINED;
  const SolverSession on(self, call.stream());
  const CholeskyRoom room(self, on, mirrored(upper));
  const Matrices m(self);
  const cudaDataType_t type = solver_type(self.dtype());
  copy_triangle(call, L, self, upper);
  std::vector<char> host(room.work.host + 1);
  for (int64_t b = 0; b < m.count; ++b) {
    SOLVER_CALL(on.index(), cusolverDnXpotrf, on.solver(), on.params(), mirrored(upper), m.rows,
                type, matrix_at(L.data<char>(), L.dtype(), m.elements(), b), m.lead(), type,
                call.workspace<char>() + room.buffer, room.work.device, host.data(), room.work.host,
                info.data<int32_t>() + b);
  }
  return TN_OK;
}

// The factors and the right sides by columns, and pivots of which all are in the matrix.
struct SolveRoom {
  Room room;
  uint64_t factors, sides, pivots, addresses = 0, info = 0;
  SolveRoom(const Tensor& LU, const Tensor& B) {
    const Matrices m(LU);
    const bool batched = is_batched(m);
    factors = room.add(LU.numel() * item_size(LU.dtype()));
    sides = room.add(B.numel() * item_size(B.dtype()));
    pivots = room.add(m.count * m.rows * (batched ? 4 : 8));
    if (batched)
      addresses = room.add(2 * m.count * static_cast<int64_t>(sizeof(void*)));
    else
      info = room.add(4);
  }
};

tn_status solve_workspace(tn_call* c, uint64_t* bytes) {
  return sdk::detail::report_exceptions(c, [&] {
    const Tensor LU(c->in[0].u.tensor), B(c->in[2].u.tensor);
    *bytes = 0;
    if (B.numel() == 0) return TN_OK;
    if (!solver_libraries()) return TN_DECLINED;
    *bytes = SolveRoom(LU, B).room.total();
    return TN_OK;
  });
}

void solve_batch(const Call& call, const SolverSession& on, const SolveRoom& room, const Tensor& LU,
                 const Tensor& B, cublasOperation_t form) {
  const Matrices m(LU), right(B);
  const int64_t item = item_size(LU.dtype());
  char* memory = call.workspace<char>();
  auto** addresses = reinterpret_cast<void**>(memory + room.addresses);
  write_addresses(call, addresses, memory + room.factors, m.elements() * item, m.count);
  write_addresses(call, addresses + m.count, memory + room.sides, right.elements() * item, m.count);
  dispatch_solver(LU.dtype(), [&](auto type) {
    using T = decltype(type);
    int info = 0;
    check_solver(SolverRoutines<T>::getrs_batched()(
                     on.blas(), form, solver_int(m.rows), solver_int(right.columns),
                     reinterpret_cast<const T* const*>(addresses), solver_int(m.lead()),
                     reinterpret_cast<const int*>(memory + room.pivots),
                     reinterpret_cast<T* const*>(addresses + m.count), solver_int(right.lead()),
                     &info, solver_int(m.count)),
                 "cublas<t>getrsBatched", on.index());
  });
}

void solve_each(const Call& call, const SolverSession& on, const SolveRoom& room, const Tensor& LU,
                const Tensor& B, cublasOperation_t form) {
  const Matrices m(LU), right(B);
  const cudaDataType_t type = solver_type(LU.dtype());
  char* memory = call.workspace<char>();
  const auto* pivots = reinterpret_cast<const int64_t*>(memory + room.pivots);
  for (int64_t b = 0; b < m.count; ++b) {
    SOLVER_CALL(on.index(), cusolverDnXgetrs, on.solver(), on.params(), form, m.rows, right.columns,
                type, matrix_at(memory + room.factors, LU.dtype(), m.elements(), b), m.lead(),
                pivots + b * m.rows, type,
                matrix_at(memory + room.sides, LU.dtype(), right.elements(), b), right.lead(),
                reinterpret_cast<int*>(memory + room.info));
  }
}

tn_status solve_lu(Call& call, Tensor X, Tensor LU, Tensor pivots, Tensor B, bool adjoint) {
  if (X.numel() == 0) return TN_OK;
  if (!solver_libraries()) return TN_DECLINED;
  const SolverSession on(LU, call.stream());
  const SolveRoom room(LU, B);
  const Matrices m(LU);
  const bool batched = is_batched(m);
  char* memory = call.workspace<char>();
  to_columns(call, LU, memory + room.factors);
  to_columns(call, B, memory + room.sides);
  const auto check = [&](auto* to) {
    check_pivots(call, pivots.data<int32_t>(), to, m.count * m.rows, m.rows, m.rows);
  };
  if (batched)
    check(reinterpret_cast<int32_t*>(memory + room.pivots));
  else
    check(reinterpret_cast<int64_t*>(memory + room.pivots));
  (batched ? solve_batch : solve_each)(call, on, room, LU, B, adjoint ? CUBLAS_OP_C : CUBLAS_OP_N);
  to_rows(call, memory + room.sides, X);
  return TN_OK;
}

tn_status triangular_workspace(tn_call* c, uint64_t* bytes) {
  const Tensor self(c->in[0].u.tensor);
  *bytes = static_cast<uint64_t>(2 * Matrices(self).count) * sizeof(void*);
  return TN_OK;
}

// Read by columns A X = B is X^T A^T = B^T, and A^T has the other triangle: nothing is copied.
tn_status solve_triangular(Call& call, Tensor X, Tensor self, Tensor B, bool upper, bool unit) {
  if (X.numel() == 0) return TN_OK;
  if (!solver_libraries()) return TN_DECLINED;
  const SolverSession on(self, call.stream());
  const Matrices m(self), right(B);
  check(cudaMemcpyAsync(X.data<char>(), B.data<char>(),
                        static_cast<std::size_t>(B.numel() * item_size(B.dtype())),
                        cudaMemcpyDeviceToDevice, on.stream()),
        "cudaMemcpyAsync", on.index());
  const auto diagonal = unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  const int columns = solver_int(right.columns), rows = solver_int(m.rows);
  const int64_t item = item_size(self.dtype());
  dispatch_solver(self.dtype(), [&](auto type) {
    using T = decltype(type);
    const T one = solver_one<T>();
    if (m.count == 1) {
      check_solver(SolverRoutines<T>::trsm()(on.blas(), CUBLAS_SIDE_RIGHT, mirrored(upper),
                                             CUBLAS_OP_N, diagonal, columns, rows, &one,
                                             self.data<T>(), rows, X.data<T>(), columns),
                   "cublas<t>trsm", on.index());
      return;
    }
    auto** addresses = call.workspace<void*>();
    write_addresses(call, addresses, self.data<char>(), m.elements() * item, m.count);
    write_addresses(call, addresses + m.count, X.data<char>(), right.elements() * item, m.count);
    check_solver(
        SolverRoutines<T>::trsm_batched()(
            on.blas(), CUBLAS_SIDE_RIGHT, mirrored(upper), CUBLAS_OP_N, diagonal, columns, rows,
            &one, reinterpret_cast<const T* const*>(addresses), rows,
            reinterpret_cast<T* const*>(addresses + m.count), columns, solver_int(m.count)),
        "cublas<t>trsmBatched", on.index());
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_factor_lu, factor_lu, TENON_SOLVER_DTYPES.workspace(lu_workspace));
TN_KERNEL(_factor_cholesky, factor_cholesky, TENON_SOLVER_DTYPES.workspace(cholesky_workspace));
TN_KERNEL(_solve_lu, solve_lu, TENON_SOLVER_DTYPES.mixed_dtypes().workspace(solve_workspace));
TN_KERNEL(_solve_triangular, solve_triangular, TENON_SOLVER_DTYPES.workspace(triangular_workspace));

}  // namespace tenon::cuda
