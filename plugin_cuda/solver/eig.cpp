// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Eigenvalues of general matrices, by a cuSOLVER that is new enough; with an older one they go
// through the host.
#include "plugin_cuda/device/eig.h"
#include "plugin_cuda/solver/libraries.h"
#include "plugin_cuda/solver/matrices.h"
#include "tenon/sdk/ops/_factor_eig.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

bool has_geev() { return solver_libraries() && solver_libraries()->cusolverDnXgeev; }

// Eigenvalues are complex, vectors of the matrix's dtype. There are no left vectors.
struct Eig {
  cusolverEigMode_t mode;
  cudaDataType_t type, complex;
  Room room;
  std::size_t device = 0, host = 0;
  uint64_t columns, vectors = 0, marks, buffer;

  Eig(const Tensor& self, bool with_vectors, const SolverSession& on)
      : mode(with_vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR),
        type(solver_type(self.dtype())),
        complex(complex_solver_type(self.dtype())) {
    const Matrices m(self);
    const void* any = self.data<char>();  // which is not read
    SOLVER_CALL(on.index(), cusolverDnXgeev_bufferSize, on.solver(), on.params(),
                CUSOLVER_EIG_MODE_NOVECTOR, mode, m.rows, type, any, m.lead(), complex, any, type,
                nullptr, m.lead(), type, any, m.lead(), type, &device, &host);
    const int64_t bytes = self.numel() * item_size(self.dtype());
    columns = room.add(bytes);
    if (with_vectors) vectors = room.add(bytes);
    marks = room.add(m.count * 4);
    buffer = room.add(static_cast<int64_t>(device));
  }
};

tn_status eig_workspace(tn_call* c, uint64_t* bytes) {
  *bytes = 0;
  if (!has_geev()) return TN_DECLINED;
  return solver_workspace(c, bytes, [&](const Tensor& self, const SolverSession& on) {
    return Eig(self, c->in[1].u.i64 != 0, on).room;
  });
}

// Ends after the work of a stream, also where a call fails: a part of it is the host's. An error of
// the work is the next call's.
struct Wait {
  cudaStream_t stream;
  ~Wait() { cudaStreamSynchronize(stream); }
};

void solve_each(const Call& call, SolverSession& on, const Eig& p, const Tensor& L,
                const Tensor& info, const Tensor& self) {
  const Matrices m(self);
  const DType d = self.dtype();
  char* memory = call.workspace<char>();
  char* const host = on.host_memory(p.host + 1);
  const Wait wait{on.stream()};
  for (int64_t b = 0; b < m.count; ++b) {
    void* v = p.vectors ? matrix_at(memory + p.vectors, d, m.elements(), b) : nullptr;
    SOLVER_CALL(on.index(), cusolverDnXgeev, on.solver(), on.params(), CUSOLVER_EIG_MODE_NOVECTOR,
                p.mode, m.rows, p.type, matrix_at(memory + p.columns, d, m.elements(), b), m.lead(),
                p.complex, matrix_at(L.data<char>(), L.dtype(), m.rows, b), p.type, nullptr,
                m.lead(), p.type, v, m.lead(), p.type, memory + p.buffer, p.device, host, p.host,
                info.data<int32_t>() + b);
  }
}

// Of a matrix that is not finite info is the number of its rows, as on the host; the library gets
// zeros in its place, since an iteration on NaN may have no end.
tn_status factor_eig(Call& call, Tensor L, Tensor V, Tensor info, Tensor self, bool vectors) {
  if (!has_geev()) return TN_DECLINED;
  if (self.numel() == 0) {
    fill_bytes(call, info.data<char>(), info.numel() * 4, 0);
    return TN_OK;
  }
  SolverSession on(self, call.stream());
  const Eig p(self, vectors, on);
  const Matrices m(self);
  const DType real = real_dtype(self.dtype());
  char* memory = call.workspace<char>();
  auto* marks = reinterpret_cast<int32_t*>(memory + p.marks);
  to_columns(call, self, memory + p.columns);
  blank_not_finite(call, memory + p.columns, real,
                   m.elements() * (is_complex(self.dtype()) ? 2 : 1), m.count, marks);
  solve_each(call, on, p, L, info, self);
  report_marked(call, marks, solver_int(m.rows), info.data<int32_t>(), m.count);
  if (!vectors) return TN_OK;
  if (is_complex(self.dtype()))
    to_rows(call, memory + p.vectors, V);
  else
    write_eigenvectors(call, memory + p.vectors, real, L, V, m.rows);
  return TN_OK;
}

}  // namespace

TN_KERNEL(_factor_eig, factor_eig, TENON_SOLVER_DTYPES.workspace(eig_workspace));

}  // namespace tenon::cuda
