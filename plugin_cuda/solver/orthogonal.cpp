// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// QR factorizations, and products of their reflectors.
#include <vector>

#include "plugin_cuda/solver/libraries.h"
#include "plugin_cuda/solver/matrices.h"
#include "tenon/sdk/ops/geqrf.h"
#include "tenon/sdk/ops/linalg_householder_product.h"
#include "tenon/sdk/ops/ormqr.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Of geqrf. cuSOLVER wants a word for the info of each call.
struct QrRoom {
  Room room;
  std::size_t device = 0, host = 0;
  uint64_t columns, buffer, info;

  QrRoom(const Tensor& self, const SolverSession& on) {
    const Matrices m(self);
    const cudaDataType_t type = solver_type(self.dtype());
    SOLVER_CALL(on.index(), cusolverDnXgeqrf_bufferSize, on.solver(), on.params(), m.rows,
                m.columns, type, nullptr, m.lead(), type, nullptr, type, &device, &host);
    columns = room.add(self.numel() * item_size(self.dtype()));
    buffer = room.add(static_cast<int64_t>(device));
    info = room.add(4);
  }
};

tn_status qr_workspace(tn_call* c, uint64_t* bytes) {
  return solver_workspace(
      c, bytes, [&](const Tensor& self, const SolverSession& on) { return QrRoom(self, on).room; });
}

tn_status factor_qr(Call& call, Tensor out, Tensor tau, Tensor self) {
  if (self.numel() == 0) return TN_OK;
  if (!solver_libraries()) return TN_DECLINED;
  const SolverSession on(self, call.stream());
  const QrRoom room(self, on);
  const Matrices m(self);
  const cudaDataType_t type = solver_type(self.dtype());
  char* memory = call.workspace<char>();
  to_columns(call, self, memory + room.columns);
  std::vector<char> host(room.host + 1);
  for (int64_t b = 0; b < m.count; ++b) {
    SOLVER_CALL(on.index(), cusolverDnXgeqrf, on.solver(), on.params(), m.rows, m.columns, type,
                matrix_at(memory + room.columns, self.dtype(), m.elements(), b), m.lead(), type,
                matrix_at(tau.data<char>(), self.dtype(), m.shorter(), b), type,
                memory + room.buffer, room.device, host.data(), room.host,
                reinterpret_cast<int*>(memory + room.info));
  }
  to_rows(call, memory + room.columns, out);
  return TN_OK;
}

// Of a product of reflectors: their matrix, and what it is multiplied with, if anything.
struct ProductRoom {
  Room room;
  int elements = 0;  // of the buffer
  uint64_t reflectors, other = 0, buffer = 0, info = 0;

  void add_buffer(DType d) {
    buffer = room.add(elements * item_size(d));
    info = room.add(4);
  }
  // The product itself.
  ProductRoom(const Tensor& input, const Tensor& tau, const SolverSession& on) {
    const Matrices m(input);
    reflectors = room.add(input.numel() * item_size(input.dtype()));
    dispatch_solver(input.dtype(), [&](auto type) {
      using T = decltype(type);
      check_solver(SolverRoutines<T>::orgqr_size()(
                       on.solver(), solver_int(m.rows), solver_int(m.columns),
                       solver_int(tau.size(tau.ndim() - 1)), static_cast<const T*>(nullptr),
                       solver_int(m.lead()), static_cast<const T*>(nullptr), &elements),
                   "cusolverDn<t>orgqr_bufferSize", on.index());
    });
    add_buffer(input.dtype());
  }
  // Its product with `c`.
  ProductRoom(const Tensor& self, const Tensor& tau, const Tensor& c, cublasSideMode_t side,
              cublasOperation_t form, const SolverSession& on) {
    const Matrices m(self), by(c);
    reflectors = room.add(self.numel() * item_size(self.dtype()));
    other = room.add(c.numel() * item_size(c.dtype()));
    dispatch_solver(self.dtype(), [&](auto type) {
      using T = decltype(type);
      const T* none = nullptr;
      check_solver(SolverRoutines<T>::ormqr_size()(
                       on.solver(), side, form, solver_int(by.rows), solver_int(by.columns),
                       solver_int(tau.size(tau.ndim() - 1)), none, solver_int(m.lead()), none, none,
                       solver_int(by.lead()), &elements),
                   "cusolverDn<t>ormqr_bufferSize", on.index());
    });
    add_buffer(self.dtype());
  }
};

tn_status product_workspace(tn_call* c, uint64_t* bytes) {
  return sdk::detail::report_exceptions(c, [&] {
    const Tensor input(c->in[0].u.tensor), tau(c->in[1].u.tensor);
    *bytes = 0;
    if (input.numel() == 0 || tau.numel() == 0) return TN_OK;
    if (!solver_libraries()) return TN_DECLINED;
    const SolverSession on(input, c->stream);
    *bytes = ProductRoom(input, tau, on).room.total();
    return TN_OK;
  });
}

// Without reflectors the product is the identity, which the fallback makes.
tn_status householder_product(Call& call, Tensor out, Tensor input, Tensor tau) {
  if (out.numel() == 0) return TN_OK;
  if (!solver_libraries() || tau.numel() == 0) return TN_DECLINED;
  const SolverSession on(input, call.stream());
  const ProductRoom room(input, tau, on);
  const Matrices m(input);
  const int64_t k = tau.size(tau.ndim() - 1);
  char* memory = call.workspace<char>();
  to_columns(call, input, memory + room.reflectors);
  dispatch_solver(input.dtype(), [&](auto type) {
    using T = decltype(type);
    for (int64_t b = 0; b < m.count; ++b) {
      check_solver(SolverRoutines<T>::orgqr()(
                       on.solver(), solver_int(m.rows), solver_int(m.columns), solver_int(k),
                       reinterpret_cast<T*>(memory + room.reflectors) + b * m.elements(),
                       solver_int(m.lead()), tau.data<T>() + b * k,
                       reinterpret_cast<T*>(memory + room.buffer), room.elements,
                       reinterpret_cast<int*>(memory + room.info)),
                   "cusolverDn<t>orgqr", on.index());
    }
  });
  to_rows(call, memory + room.reflectors, out);
  return TN_OK;
}

cublasSideMode_t side_of(bool left) { return left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT; }
cublasOperation_t form_of(DType d, bool transpose) {
  return !transpose ? CUBLAS_OP_N : is_complex(d) ? CUBLAS_OP_C : CUBLAS_OP_T;
}

tn_status ormqr_workspace(tn_call* c, uint64_t* bytes) {
  return sdk::detail::report_exceptions(c, [&] {
    const Tensor self(c->in[0].u.tensor), tau(c->in[1].u.tensor), other(c->in[2].u.tensor);
    *bytes = 0;
    if (other.numel() == 0 || tau.numel() == 0) return TN_OK;
    if (!solver_libraries()) return TN_DECLINED;
    const SolverSession on(self, c->stream);
    const ProductRoom room(self, tau, other, side_of(c->in[3].u.i64 != 0),
                           form_of(self.dtype(), c->in[4].u.i64 != 0), on);
    *bytes = room.room.total();
    return TN_OK;
  });
}

tn_status multiply_by_q(Call& call, Tensor out, Tensor self, Tensor tau, Tensor other, bool left,
                        bool transpose) {
  if (out.numel() == 0) return TN_OK;
  if (!solver_libraries() || tau.numel() == 0) return TN_DECLINED;
  const SolverSession on(self, call.stream());
  const cublasSideMode_t side = side_of(left);
  const cublasOperation_t form = form_of(self.dtype(), transpose);
  const ProductRoom room(self, tau, other, side, form, on);
  const Matrices m(self), c(other);
  const int64_t k = tau.size(tau.ndim() - 1);
  char* memory = call.workspace<char>();
  to_columns(call, self, memory + room.reflectors);
  to_columns(call, other, memory + room.other);
  dispatch_solver(self.dtype(), [&](auto type) {
    using T = decltype(type);
    for (int64_t b = 0; b < c.count; ++b) {
      check_solver(
          SolverRoutines<T>::ormqr()(
              on.solver(), side, form, solver_int(c.rows), solver_int(c.columns), solver_int(k),
              reinterpret_cast<T*>(memory + room.reflectors) + b * m.elements(),
              solver_int(m.lead()), tau.data<T>() + b * k,
              reinterpret_cast<T*>(memory + room.other) + b * c.elements(), solver_int(c.lead()),
              reinterpret_cast<T*>(memory + room.buffer), room.elements,
              reinterpret_cast<int*>(memory + room.info)),
          "cusolverDn<t>ormqr", on.index());
    }
  });
  to_rows(call, memory + room.other, out);
  return TN_OK;
}

}  // namespace

TN_KERNEL(geqrf, factor_qr, TENON_SOLVER_DTYPES.workspace(qr_workspace));
TN_KERNEL(linalg_householder_product, householder_product,
          TENON_SOLVER_DTYPES.workspace(product_workspace));
TN_KERNEL(ormqr, multiply_by_q, TENON_SOLVER_DTYPES.workspace(ormqr_workspace));

}  // namespace tenon::cuda
