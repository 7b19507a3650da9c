// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuSOLVER and cuBLAS, opened when the first factorization needs them: together they are several
// hundred megabytes, which most programs never use.
#pragma once

#include <cusolverDn.h>

#include <mutex>
#include <type_traits>

#include "tenon/sdk/dispatch.h"

namespace tenon::cuda {

#define TENON_SOLVER_TYPED(X, L, Q)   \
  X(cusolverDn##L##Q##gqr_bufferSize) \
  X(cusolverDn##L##Q##gqr) X(cusolverDn##L##Q##mqr_bufferSize) X(cusolverDn##L##Q##mqr)
#define TENON_SOLVER_FUNCTIONS(X)                                                                \
  X(cusolverDnCreate)                                                                            \
  X(cusolverDnDestroy)                                                                           \
  X(cusolverDnSetStream)                                                                         \
  X(cusolverDnCreateParams) X(cusolverDnDestroyParams) X(cusolverDnXgetrf_bufferSize)            \
      X(cusolverDnXgetrf) X(cusolverDnXgetrs) X(cusolverDnXpotrf_bufferSize) X(cusolverDnXpotrf) \
          X(cusolverDnXgeqrf_bufferSize) X(cusolverDnXgeqrf) X(cusolverDnXsyevd_bufferSize)      \
              X(cusolverDnXsyevd) X(cusolverDnXgesvd_bufferSize) X(cusolverDnXgesvd)             \
                  TENON_SOLVER_TYPED(X, S, or) TENON_SOLVER_TYPED(X, D, or)                      \
                      TENON_SOLVER_TYPED(X, C, un) TENON_SOLVER_TYPED(X, Z, un)
#define TENON_BLAS_TYPED(X, L) \
  X(cublas##L##trsm_v2)        \
  X(cublas##L##trsmBatched) X(cublas##L##getrfBatched) X(cublas##L##getrsBatched)
#define TENON_BLAS_FUNCTIONS(X) \
  X(cublasCreate_v2)            \
  X(cublasDestroy_v2)           \
  X(cublasSetStream_v2)         \
  TENON_BLAS_TYPED(X, S) TENON_BLAS_TYPED(X, D) TENON_BLAS_TYPED(X, C) TENON_BLAS_TYPED(X, Z)

struct SolverLibraries {
#define TENON_MEMBER(f) decltype(&::f) f;
  TENON_SOLVER_FUNCTIONS(TENON_MEMBER)
  TENON_BLAS_FUNCTIONS(TENON_MEMBER)
#undef TENON_MEMBER
};

// Null if one of the libraries is not installed: the kernel declines then.
const SolverLibraries* solver_libraries();

// The functions that have a name per element type.
template <class T>
struct SolverRoutines;
#define TENON_ROUTINES(T, L, Q)                                                               \
  template <>                                                                                 \
  struct SolverRoutines<T> {                                                                  \
    static auto orgqr_size() { return solver_libraries()->cusolverDn##L##Q##gqr_bufferSize; } \
    static auto orgqr() { return solver_libraries()->cusolverDn##L##Q##gqr; }                 \
    static auto ormqr_size() { return solver_libraries()->cusolverDn##L##Q##mqr_bufferSize; } \
    static auto ormqr() { return solver_libraries()->cusolverDn##L##Q##mqr; }                 \
    static auto trsm() { return solver_libraries()->cublas##L##trsm_v2; }                     \
    static auto trsm_batched() { return solver_libraries()->cublas##L##trsmBatched; }         \
    static auto getrf_batched() { return solver_libraries()->cublas##L##getrfBatched; }       \
    static auto getrs_batched() { return solver_libraries()->cublas##L##getrsBatched; }       \
  };
TENON_ROUTINES(float, S, or)
TENON_ROUTINES(double, D, or)
TENON_ROUTINES(cuComplex, C, un)
TENON_ROUTINES(cuDoubleComplex, Z, un)
#undef TENON_ROUTINES

template <class T>
T solver_one() {
  if constexpr (std::is_floating_point_v<T>)
    return 1;
  else
    return {1, 0};
}

// Calls f with a value of the libraries' type for the dtype.
template <class F>
auto dispatch_solver(sdk::DType d, F&& f) {
  switch (sdk::dtype_key(d)) {
    case sdk::dtype_key(sdk::kFloat64):
      return f(double{});
    case sdk::dtype_key(sdk::kComplex64):
      return f(cuComplex{});
    case sdk::dtype_key(sdk::kComplex128):
      return f(cuDoubleComplex{});
    default:
      return f(float{});
  }
}

// The handles of a device, for one thread at a time, on a stream.
class SolverSession {
 public:
  SolverSession(int index, cudaStream_t stream);
  cusolverDnHandle_t solver() const { return solver_; }
  cublasHandle_t blas() const { return blas_; }
  cusolverDnParams_t params() const { return params_; }

 private:
  std::unique_lock<std::mutex> hold_;
  cusolverDnHandle_t solver_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  cusolverDnParams_t params_ = nullptr;
};

void check_solver(cusolverStatus_t status, const char* call, int index);
void check_solver(cublasStatus_t status, const char* call, int index);
#define SOLVER_CALL(index, f, ...) check_solver(solver_libraries()->f(__VA_ARGS__), #f, index)

void stop_solver();

}  // namespace tenon::cuda
