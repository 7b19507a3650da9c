// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// LDL factorizations of symmetric matrices, one after the other. cuSOLVER has none of Hermitian
// matrices, which go through the host.
#include <vector>

#include "plugin_cuda/solver/libraries.h"
#include "plugin_cuda/solver/matrices.h"
#include "tenon/sdk/ops/_factor_ldl.h"
#include "tenon/sdk/ops/_solve_ldl.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

bool has_ldl(DType d, bool hermitian) {
  return solver_libraries() && !(hermitian && is_complex(d));
}

struct LdlRoom {
  Room room;
  int elements = 0;  // of the buffer
  uint64_t columns, buffer;

  LdlRoom(const Tensor& self, const SolverSession& on) {
    const Matrices m(self);
    const int64_t item = item_size(self.dtype());
    dispatch_solver(self.dtype(), [&](auto type) {
      using T = decltype(type);
      check_solver(SolverRoutines<T>::sytrf_size()(on.solver(), solver_int(m.rows), self.data<T>(),
                                                   solver_int(m.lead()), &elements),
                   "cusolverDn<t>sytrf_bufferSize", on.index());
    });
    columns = room.add(self.numel() * item);
    buffer = room.add(elements * item);
  }
};

tn_status ldl_workspace(tn_call* c, uint64_t* bytes) {
  *bytes = 0;
  if (!has_ldl(Tensor(c->in[0].u.tensor).dtype(), c->in[1].u.i64 != 0)) return TN_DECLINED;
  return solver_workspace(c, bytes, [&](const Tensor& self, const SolverSession& on) {
    return LdlRoom(self, on).room;
  });
}

tn_status factor_ldl(Call& call, Tensor LD, Tensor pivots, Tensor info, Tensor self,
                     bool hermitian) {
  if (!has_ldl(self.dtype(), hermitian)) return TN_DECLINED;
  if (self.numel() == 0) {
    fill_bytes(call, info.data<char>(), info.numel() * 4, 0);
    return TN_OK;
  }
  const SolverSession on(self, call.stream());
  const LdlRoom room(self, on);
  const Matrices m(self);
  const int rows = solver_int(m.rows);
  char* memory = call.workspace<char>();
  to_columns(call, self, memory + room.columns);
  dispatch_solver(self.dtype(), [&](auto type) {
    using T = decltype(type);
    for (int64_t b = 0; b < m.count; ++b) {
      check_solver(
          SolverRoutines<T>::sytrf()(on.solver(), CUBLAS_FILL_MODE_LOWER, rows,
                                     reinterpret_cast<T*>(memory + room.columns) + b * m.elements(),
                                     rows, pivots.data<int32_t>() + b * rows,
                                     reinterpret_cast<T*>(memory + room.buffer), room.elements,
                                     info.data<int32_t>() + b),
          "cusolverDn<t>sytrf", on.index());
    }
  });
  to_rows(call, memory + room.columns, LD);
  return TN_OK;
}

// The addresses that the query of the size gets are those of operands: without pivots the library
// would solve another problem.
struct SolveLdlRoom {
  Room room;
  std::size_t device = 0, host = 0;
  uint64_t factors, sides, pivots, buffer, info;

  SolveLdlRoom(const Tensor& LD, const Tensor& B, const SolverSession& on) {
    const Matrices m(LD), right(B);
    const cudaDataType_t type = solver_type(LD.dtype());
    SOLVER_CALL(on.index(), cusolverDnXsytrs_bufferSize, on.solver(), CUBLAS_FILL_MODE_LOWER,
                m.rows, right.columns, type, LD.data<char>(), m.lead(), LD.data<int64_t>(), type,
                const_cast<char*>(B.data<char>()), right.lead(), &device, &host);
    factors = room.add(LD.numel() * item_size(LD.dtype()));
    sides = room.add(B.numel() * item_size(B.dtype()));
    pivots = room.add(m.count * m.rows * 8);
    buffer = room.add(static_cast<int64_t>(device));
    info = room.add(4);
  }
};

tn_status solve_ldl_workspace(tn_call* c, uint64_t* bytes) {
  return sdk::detail::report_exceptions(c, [&] {
    const Tensor LD(c->in[0].u.tensor), B(c->in[2].u.tensor);
    *bytes = 0;
    if (!has_ldl(LD.dtype(), c->in[3].u.i64 != 0)) return TN_DECLINED;
    if (B.numel() == 0) return TN_OK;
    *bytes = SolveLdlRoom(LD, B, SolverSession(LD, c->stream)).room.total();
    return TN_OK;
  });
}

tn_status solve_ldl(Call& call, Tensor X, Tensor LD, Tensor pivots, Tensor B, bool hermitian) {
  if (!has_ldl(LD.dtype(), hermitian)) return TN_DECLINED;
  if (X.numel() == 0) return TN_OK;
  const SolverSession on(LD, call.stream());
  const SolveLdlRoom room(LD, B, on);
  const Matrices m(LD), right(B);
  const DType d = LD.dtype();
  const cudaDataType_t type = solver_type(d);
  char* memory = call.workspace<char>();
  auto* checked = reinterpret_cast<int64_t*>(memory + room.pivots);
  to_columns(call, LD, memory + room.factors);
  to_columns(call, B, memory + room.sides);
  check_blocks(call, pivots.data<int32_t>(), checked, m.rows, m.count);
  std::vector<char> host(room.host + 1);
  for (int64_t b = 0; b < m.count; ++b) {
    SOLVER_CALL(on.index(), cusolverDnXsytrs, on.solver(), CUBLAS_FILL_MODE_LOWER, m.rows,
                right.columns, type, matrix_at(memory + room.factors, d, m.elements(), b), m.lead(),
                checked + b * m.rows, type, matrix_at(memory + room.sides, d, right.elements(), b),
                right.lead(), memory + room.buffer, room.device, host.data(), room.host,
                reinterpret_cast<int*>(memory + room.info));
  }
  to_rows(call, memory + room.sides, X);
  return TN_OK;
}

}  // namespace

TN_KERNEL(_factor_ldl, factor_ldl, TENON_SOLVER_DTYPES.workspace(ldl_workspace));
TN_KERNEL(_solve_ldl, solve_ldl, TENON_SOLVER_DTYPES.mixed_dtypes().workspace(solve_ldl_workspace));

}  // namespace tenon::cuda
