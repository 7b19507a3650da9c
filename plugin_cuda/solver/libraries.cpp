// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cuda/solver/libraries.h"

#include <dlfcn.h>

#include <string>
#include <vector>

#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {
namespace {

using sdk::Error;

struct Handles {
  std::mutex lock;
  cusolverDnHandle_t solver = nullptr;
  cublasHandle_t blas = nullptr;
  cusolverDnParams_t params = nullptr;
  std::vector<char> host;
};
Handles* handles() {
  static auto* const all = new Handles[kMaxDevices];
  return all;
}

template <class F>
bool find(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

const SolverLibraries* open_libraries() {
  const auto open = [](const char* name, int major) {
    return dlopen(sdk::join(name, ".so.", major).c_str(), RTLD_NOW | RTLD_LOCAL);
  };
  void* blas = open("libcublas", CUBLAS_VER_MAJOR);
  void* solver = blas ? open("libcusolver", CUSOLVER_VER_MAJOR) : nullptr;
  if (!solver) return nullptr;
  static SolverLibraries found;
  bool all = true;
#define TENON_SOLVER_FUNCTION(f) all = find(solver, #f, found.f) && all;
#define TENON_SOLVER_OPTIONAL(f, ...) find(solver, #f, found.f);
#define TENON_BLAS_FUNCTION(f) all = find(blas, #f, found.f) && all;
#include "plugin_cuda/solver/functions.def"
  return all ? &found : nullptr;
}

void create(Handles& h, int index) {
  const UncapturedGuard uncaptured;
  if (!h.solver) SOLVER_CALL(index, cusolverDnCreate, &h.solver);
  if (!h.params) SOLVER_CALL(index, cusolverDnCreateParams, &h.params);
  if (!h.blas) SOLVER_CALL(index, cublasCreate_v2, &h.blas);
}

}  // namespace

const SolverLibraries* solver_libraries() {
  static const SolverLibraries* const libraries = open_libraries();
  return libraries;
}

SolverSession::SolverSession(const sdk::Tensor& tensor, const tn_stream* stream)
    : index_(tensor.device().index),
      stream_(native(index_, stream)),
      guard_(index_),
      hold_(handles()[index_].lock) {
  Handles& h = handles()[index_];
  create(h, index_);
  solver_ = h.solver;
  blas_ = h.blas;
  params_ = h.params;
  SOLVER_CALL(index_, cusolverDnSetStream, solver_, stream_);
  SOLVER_CALL(index_, cublasSetStream_v2, blas_, stream_);
}

char* SolverSession::host_memory(std::size_t bytes) {
  std::vector<char>& host = handles()[index_].host;
  if (host.size() < bytes) host.resize(bytes);
  return host.data();
}

void check_solver(cusolverStatus_t status, const char* call, int index) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  check(cudaPeekAtLastError(), call, index);  // a device error is more specific
  throw Error(status == CUSOLVER_STATUS_ALLOC_FAILED ? TN_ERROR_MEMORY : TN_ERROR_BACKEND, call,
              " failed: status ", static_cast<int>(status), " of cuSOLVER");
}

void check_solver(cublasStatus_t status, const char* call, int index) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check(cudaPeekAtLastError(), call, index);
  throw Error(status == CUBLAS_STATUS_ALLOC_FAILED ? TN_ERROR_MEMORY : TN_ERROR_BACKEND, call,
              " failed: status ", static_cast<int>(status), " of cuBLAS");
}

void stop_solver() {
  for (int i = 0; i < kMaxDevices; ++i) {
    Handles& h = handles()[i];
    if (!forked()) {
      if (h.params) solver_libraries()->cusolverDnDestroyParams(h.params);
      if (h.solver) solver_libraries()->cusolverDnDestroy(h.solver);
      if (h.blas) solver_libraries()->cublasDestroy_v2(h.blas);
    }
    h.params = nullptr;
    h.solver = nullptr;
    h.blas = nullptr;
    h.host = {};
  }
}

}  // namespace tenon::cuda
