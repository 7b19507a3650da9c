// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of Hermitian matrices, and singular values.
#include <vector>

#include "plugin_cuda/solver/libraries.h"
#include "plugin_cuda/solver/matrices.h"
#include "tenon/sdk/ops/_factor_eigh.h"
#include "tenon/sdk/ops/_factor_svd.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// A problem of eigenvalues: cuSOLVER overwrites the matrix by the vectors.
struct Eigh {
  cusolverEigMode_t mode;
  cublasFillMode_t triangle;
  Room room;
  std::size_t device = 0, host = 0;
  uint64_t columns, buffer;

  Eigh(const Tensor& self, bool upper, bool vectors, const SolverSession& on)
      : mode(vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR),
        triangle(upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER) {
    const Matrices m(self);
    const cudaDataType_t type = solver_type(self.dtype()),
                         real = solver_type(real_dtype(self.dtype()));
    SOLVER_CALL(on.index(), cusolverDnXsyevd_bufferSize, on.solver(), on.params(), mode, triangle,
                m.rows, type, nullptr, m.lead(), real, nullptr, type, &device, &host);
    columns = room.add(self.numel() * item_size(self.dtype()));
    buffer = room.add(static_cast<int64_t>(device));
  }
};

tn_status eigh_workspace(tn_call* c, uint64_t* bytes) {
  return solver_workspace(c, bytes, [&](const Tensor& self, const SolverSession& on) {
    return Eigh(self, c->in[1].u.i64 != 0, c->in[2].u.i64 != 0, on).room;
  });
}

tn_status factor_eigh(Call& call, Tensor L, Tensor V, Tensor info, Tensor self, bool upper,
                      bool vectors) {
  if (self.numel() == 0) {
    fill_bytes(call, info.data<char>(), info.numel() * 4, 0);
    return TN_OK;
  }
  if (!solver_libraries()) return TN_DECLINED;
  const SolverSession on(self, call.stream());
  const Eigh p(self, upper, vectors, on);
  const Matrices m(self);
  const DType real = real_dtype(self.dtype());
  const cudaDataType_t type = solver_type(self.dtype());
  char* memory = call.workspace<char>();
  to_columns(call, self, memory + p.columns);
  std::vector<char> host(p.host + 1);
  for (int64_t b = 0; b < m.count; ++b) {
    SOLVER_CALL(on.index(), cusolverDnXsyevd, on.solver(), on.params(), p.mode, p.triangle, m.rows,
                type, matrix_at(memory + p.columns, self.dtype(), m.elements(), b), m.lead(),
                solver_type(real), matrix_at(L.data<char>(), real, m.rows, b), type,
                memory + p.buffer, p.device, host.data(), p.host, info.data<int32_t>() + b);
  }
  if (vectors) to_rows(call, memory + p.columns, V);
  return TN_OK;
}

// gesvd takes matrices with at least as many rows as columns. Row-major memory of a wide matrix A,
// read by columns, is A^T = U1 S V1^H; so A = conj(V1) S U1^T, and conj(V1) by rows has the memory
// of V1^H by columns, U1^T by rows that of U1 by columns: the results need no copy.
struct Svd {
  bool wide;
  int64_t rows, columns, u_columns, v_rows;  // of the matrix that gesvd gets, and of its results
  signed char job;
  Room room;
  std::size_t device = 0, host = 0;
  uint64_t matrix, u = 0, v = 0, buffer;

  Svd(const Tensor& self, bool full, bool vectors, const SolverSession& on)
      : wide(Matrices(self).columns > Matrices(self).rows),
        rows(wide ? Matrices(self).columns : Matrices(self).rows),
        columns(Matrices(self).shorter()),
        u_columns(full ? rows : columns),
        v_rows(columns),
        job(!vectors ? 'N'
            : full   ? 'A'
                     : 'S') {
    const cudaDataType_t type = solver_type(self.dtype()),
                         real = solver_type(real_dtype(self.dtype()));
    SOLVER_CALL(on.index(), cusolverDnXgesvd_bufferSize, on.solver(), on.params(), job, job, rows,
                columns, type, nullptr, rows, real, nullptr, type, nullptr, rows, type, nullptr,
                v_rows, type, &device, &host);
    const int64_t item = item_size(self.dtype()), count = Matrices(self).count;
    matrix = room.add(self.numel() * item);
    if (vectors && !wide) {
      u = room.add(count * rows * u_columns * item);
      v = room.add(count * v_rows * columns * item);
    }
    buffer = room.add(static_cast<int64_t>(device));
  }
};

tn_status svd_workspace(tn_call* c, uint64_t* bytes) {
  return sdk::detail::report_exceptions(c, [&] {
    const Tensor self(c->in[0].u.tensor);
    *bytes = 0;
    if (self.numel() == 0 || !solver_libraries()) return TN_DECLINED;
    const SolverSession on(self, c->stream);
    *bytes = Svd(self, c->in[1].u.i64 != 0, c->in[2].u.i64 != 0, on).room.total();
    return TN_OK;
  });
}

// A matrix without elements is the fallback's.
tn_status factor_svd(Call& call, Tensor U, Tensor S, Tensor Vh, Tensor info, Tensor self, bool full,
                     bool vectors, std::optional<std::string_view>) {
  if (self.numel() == 0 || !solver_libraries()) return TN_DECLINED;
  const SolverSession on(self, call.stream());
  const Svd p(self, full, vectors, on);
  const DType d = self.dtype(), real = real_dtype(d);
  const cudaDataType_t type = solver_type(d);
  char* memory = call.workspace<char>();
  if (p.wide)
    check(cudaMemcpyAsync(memory + p.matrix, self.data<char>(),
                          static_cast<std::size_t>(self.numel() * item_size(d)),
                          cudaMemcpyDeviceToDevice, on.stream()),
          "cudaMemcpyAsync", on.index());
  else
    to_columns(call, self, memory + p.matrix);
  char* u = p.wide ? Vh.data<char>() : memory + p.u;
  char* v = p.wide ? U.data<char>() : memory + p.v;
  std::vector<char> host(p.host + 1);
  for (int64_t b = 0; b < Matrices(self).count; ++b) {
    SOLVER_CALL(on.index(), cusolverDnXgesvd, on.solver(), on.params(), p.job, p.job, p.rows,
                p.columns, type, matrix_at(memory + p.matrix, d, p.rows * p.columns, b), p.rows,
                solver_type(real), matrix_at(S.data<char>(), real, p.columns, b), type,
                vectors ? matrix_at(u, d, p.rows * p.u_columns, b) : nullptr, p.rows, type,
                vectors ? matrix_at(v, d, p.v_rows * p.columns, b) : nullptr, p.v_rows, type,
                memory + p.buffer, p.device, host.data(), p.host, info.data<int32_t>() + b);
  }
  if (vectors && !p.wide) {
    to_rows(call, memory + p.u, U);
    to_rows(call, memory + p.v, Vh);
  }
  return TN_OK;
}

}  // namespace

TN_KERNEL(_factor_eigh, factor_eigh, TENON_SOLVER_DTYPES.workspace(eigh_workspace));
TN_KERNEL(_factor_svd, factor_svd, TENON_SOLVER_DTYPES.workspace(svd_workspace));

}  // namespace tenon::cuda
