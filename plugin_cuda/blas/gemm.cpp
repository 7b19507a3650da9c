// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// cuBLAS is column-major: a row-major matrix is its transpose, so it computes out' = b' a'.
#include "plugin_cuda/blas/gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "plugin_cuda/runtime/runtime.h"

namespace tenon::cuda {
namespace {

using sdk::Error;

constexpr uint64_t kMaxWorkspace = uint64_t{32} << 20;  // recommended for Hopper
constexpr std::size_t kMaxPlans = 4096;

struct Blas {
  std::mutex lock;
  cublasLtHandle_t handle[kMaxDevices] = {};  // one serves all threads and streams
  std::map<std::array<int64_t, 20>, GemmPlan> plans;
};
Blas& blas() {
  static auto& b = *new Blas;
  return b;
}

void check_blas(cublasStatus_t status, const char* call, int index) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check(cudaPeekAtLastError(), call, index);  // a device error is more specific
  throw Error(status == CUBLAS_STATUS_ALLOC_FAILED ? TN_ERROR_MEMORY : TN_ERROR_BACKEND, call,
              " failed: ", cublasLtGetStatusName(status), " (", cublasLtGetStatusString(status),
              ")");
}
#define BLAS_CALL(index, call, ...) check_blas(call(__VA_ARGS__), #call, index)

cublasLtHandle_t handle_of(int index) {
  Blas& b = blas();
  if (cublasLtHandle_t h = __atomic_load_n(&b.handle[index], __ATOMIC_ACQUIRE)) return h;
  std::lock_guard<std::mutex> hold(b.lock);
  if (b.handle[index]) return b.handle[index];
  UncapturedGuard uncaptured;
  cublasLtHandle_t h = nullptr;
  BLAS_CALL(index, cublasLtCreate, &h);
  __atomic_store_n(&b.handle[index], h, __ATOMIC_RELEASE);
  return h;
}

struct Types {
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
};

Types types_of(sdk::DType d) {
  switch (sdk::dtype_key(d)) {
    case sdk::dtype_key(sdk::kFloat64):
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case sdk::dtype_key(sdk::kFloat16):
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case sdk::dtype_key(sdk::kBFloat16):
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_R_32F, CUDA_R_32F,
              allow_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
  }
}

// cuBLAS's description of a matrix.
struct Layout {
  cublasLtMatrixLayoutOpaque_t layout;
  Layout(const Matrix& m, cudaDataType_t type, int64_t batch, int index) {
    const auto rows = static_cast<uint64_t>(m.by_columns ? m.rows : m.columns);
    const auto columns = static_cast<uint64_t>(m.by_columns ? m.columns : m.rows);
    BLAS_CALL(index, cublasLtMatrixLayoutInit, &layout, type, rows, columns, m.lead);
    if (batch == 1) return;
    const auto count = static_cast<int32_t>(batch);
    BLAS_CALL(index, cublasLtMatrixLayoutSetAttribute, &layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
              &count, sizeof count);
    BLAS_CALL(index, cublasLtMatrixLayoutSetAttribute, &layout,
              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &m.apart, sizeof m.apart);
  }
};

// The call to cuBLAS: its first matrix is our second, as everything is transposed.
struct Problem {
  Types types;
  cublasLtMatmulDescOpaque_t desc;
  Layout first, second, c, out;

  Problem(const Gemm& g, int index)
      : types(types_of(g.dtype)),
        first(g.b, types.data, g.batch, index),
        second(g.a, types.data, g.batch, index),
        c(g.c.data ? g.c : g.out, types.data, g.batch, index),
        out(g.out, types.data, g.batch, index) {
    BLAS_CALL(index, cublasLtMatmulDescInit, &desc, types.compute, types.scale);
    set(index, CUBLASLT_MATMUL_DESC_TRANSA, g.b.by_columns ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(index, CUBLASLT_MATMUL_DESC_TRANSB, g.a.by_columns ? CUBLAS_OP_T : CUBLAS_OP_N);
    constexpr cublasLtEpilogue_t plain[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU,
                                            CUBLASLT_EPILOGUE_GELU};
    constexpr cublasLtEpilogue_t biased[] = {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
                                             CUBLASLT_EPILOGUE_GELU_BIAS};
    const auto last = static_cast<std::size_t>(g.activation);
    if (g.bias || last != 0)
      set(index, CUBLASLT_MATMUL_DESC_EPILOGUE, g.bias ? biased[last] : plain[last]);
    if (g.bias) set(index, CUBLASLT_MATMUL_DESC_BIAS_POINTER, g.bias);
  }
  template <class T>
  void set(int index, cublasLtMatmulDescAttributes_t what, T value) {
    BLAS_CALL(index, cublasLtMatmulDescSetAttribute, &desc, what, &value, sizeof value);
  }
};

uint32_t alignment_of(const Matrix& m) {
  const auto address = reinterpret_cast<uintptr_t>(m.data);
  return static_cast<uint32_t>(std::min<uintptr_t>(address & (~address + 1), 256));
}

std::array<int64_t, 20> key_of(const Gemm& g, int index) {
  const Matrix& c = g.c.data ? g.c : g.out;
  const int64_t shapes = g.a.by_columns | g.b.by_columns << 1 | (g.bias != nullptr) << 2 |
                         (g.beta == 0) << 3 | (c.data == g.out.data) << 4 |
                         static_cast<int64_t>(g.activation) << 5 | index << 8;
  return {shapes,
          g.out.rows,
          g.out.columns,
          g.a.columns,
          g.batch,
          g.a.lead,
          g.b.lead,
          c.lead,
          g.out.lead,
          g.a.apart,
          g.b.apart,
          c.apart,
          g.out.apart,
          alignment_of(g.a),
          alignment_of(g.b),
          alignment_of(c),
          alignment_of(g.out),
          static_cast<int64_t>(sdk::dtype_key(g.dtype)),
          static_cast<int64_t>(reinterpret_cast<uintptr_t>(g.bias) % 16),
          0};
}

GemmPlan query_plan(const Gemm& g, int index) {
  Problem p(g, index);
  cublasLtMatmulPreferenceOpaque_t preference;
  BLAS_CALL(index, cublasLtMatmulPreferenceInit, &preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
    BLAS_CALL(index, cublasLtMatmulPreferenceSetAttribute, &preference, what, &value, sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(g.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(g.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(g.c.data ? g.c : g.out));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(g.out));
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_of(index), &p.desc, &p.first.layout, &p.second.layout,
                                     &p.c.layout, &p.out.layout, &preference, 1, &best, &found);
  const bool none =
      status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0);
  if (none && g.activation != Activation::None) return {{}, 0, false};
  check_blas(none ? CUBLAS_STATUS_NOT_SUPPORTED : status, "cublasLtMatmulAlgoGetHeuristic", index);
  return {best.algo, best.workspaceSize};
}

}  // namespace

bool as_matrix(const sdk::Tensor& t, Matrix& out) {
  const int r = t.ndim() - 2, c = t.ndim() - 1;
  const int64_t rows = t.size(r), columns = t.size(c), down = t.stride(r), right = t.stride(c);
  out = {t.data(), rows, columns, 0, t.ndim() == 3 ? t.stride(0) : 0, false};
  if ((right == 1 || columns == 1) && (down >= columns || rows == 1)) {
    out.lead = rows == 1 ? std::max<int64_t>(columns, 1) : down;
    return true;
  }
  if ((down == 1 || rows == 1) && (right >= rows || columns == 1)) {
    out.lead = columns == 1 ? std::max<int64_t>(rows, 1) : right;
    out.by_columns = true;
    return true;
  }
  return false;
}

GemmPlan plan_of(const Gemm& g, int index) {
  Blas& b = blas();
  const auto key = key_of(g, index);
  {
    std::lock_guard<std::mutex> hold(b.lock);
    if (auto it = b.plans.find(key); it != b.plans.end()) return it->second;
  }
  const GemmPlan made = query_plan(g, index);
  std::lock_guard<std::mutex> hold(b.lock);
  if (b.plans.size() >= kMaxPlans) b.plans.clear();
  return b.plans.emplace(key, made).first->second;
}

void run(const Gemm& g, int index, cudaStream_t stream, void* workspace, uint64_t workspace_bytes) {
  const GemmPlan plan = plan_of(g, index);
  Problem p(g, index);
  const bool wide = p.types.scale == CUDA_R_64F;
  const float alpha = static_cast<float>(g.alpha), beta = static_cast<float>(g.beta);
  const void* scale[] = {wide ? static_cast<const void*>(&g.alpha) : &alpha,
                         wide ? static_cast<const void*>(&g.beta) : &beta};
  const Matrix& c = g.c.data ? g.c : g.out;
  BLAS_CALL(index, cublasLtMatmul, handle_of(index), &p.desc, scale[0], g.b.data, &p.first.layout,
            g.a.data, &p.second.layout, scale[1], c.data, &p.c.layout,
            const_cast<void*>(g.out.data), &p.out.layout, &plan.algo, workspace, workspace_bytes,
            stream);
}

std::string blas_fault() {
  const std::size_t major = cublasLtGetVersion() / 10000;
  if (major == CUBLAS_VER_MAJOR) return {};
  return sdk::join("libcublasLt: built against version ", CUBLAS_VER_MAJOR, " but found ", major,
                   "; install that one or rebuild the plugin");
}

void stop_blas() {
  Blas& b = blas();
  for (int i = 0; i < kMaxDevices; ++i) {
    if (b.handle[i] && !forked()) cublasLtDestroy(b.handle[i]);
    b.handle[i] = nullptr;
  }
  b.plans.clear();
}

}  // namespace tenon::cuda
