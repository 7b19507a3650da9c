// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuSOLVER and cuBLAS, opened when the first factorization needs them: together they are several
// hundred megabytes, which most programs never use.
#pragma once

#include <cusolverDn.h>

#include <mutex>
#include <type_traits>

#include "plugin_cuda/runtime/runtime.h"
#include "tenon/sdk/dispatch.h"

namespace tenon::cuda {

struct SolverLibraries {
#define TENON_SOLVER_FUNCTION(f) decltype(&::f) f;
#define TENON_SOLVER_OPTIONAL(f, ...) cusolverStatus_t (*f)(__VA_ARGS__);  // null if it is missing
#define TENON_BLAS_FUNCTION(f) decltype(&::f) f;
#include "plugin_cuda/solver/functions.def"
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
    static auto sytrf_size() { return solver_libraries()->cusolverDn##L##sytrf_bufferSize; }  \
    static auto sytrf() { return solver_libraries()->cusolverDn##L##sytrf; }                  \
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

// The handles of a tensor's device, for one thread at a time, on a stream. The device is current as
// long as the session lives.
class SolverSession {
 public:
  SolverSession(const sdk::Tensor& tensor, const tn_stream* stream);
  int index() const { return index_; }
  cudaStream_t stream() const { return stream_; }
  cusolverDnHandle_t solver() const { return solver_; }
  cublasHandle_t blas() const { return blas_; }
  cusolverDnParams_t params() const { return params_; }
  // Memory of the device's handles. Work that still uses it must have ended before the session
  // does.
  char* host_memory(std::size_t bytes);

 private:
  int index_;
  cudaStream_t stream_;
  DeviceGuard guard_;
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
