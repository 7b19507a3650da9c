// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products by plain calls of cuBLASLt.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <random>
#include <vector>

#include "plugin_cuda/lower_bounds/lower_bounds.h"
#include "plugin_cuda/lower_bounds/measure.h"

namespace tenon::lower_bounds {

void fill(const Memory& m, int64_t elements, int width, bool brain) {
  constexpr int64_t kPiece = 1 << 20;
  std::mt19937 random(1);
  std::vector<char> piece(static_cast<size_t>(std::min(elements, kPiece) * width));
  for (size_t i = 0; i < piece.size() / static_cast<size_t>(width); ++i) {
    const float v = std::uniform_real_distribution<float>(0, 1)(random);
    if (width == 4)
      reinterpret_cast<float*>(piece.data())[i] = v;
    else if (brain)
      reinterpret_cast<__nv_bfloat16*>(piece.data())[i] = __float2bfloat16(v);
    else
      reinterpret_cast<__half*>(piece.data())[i] = __float2half(v);
  }
  for (int64_t at = 0; at < elements; at += kPiece) {
    const int64_t n = std::min(kPiece, elements - at);
    cudaMemcpyAsync(m.as<char>() + at * width, piece.data(), static_cast<size_t>(n * width),
                    cudaMemcpyHostToDevice, nullptr);
  }
}

namespace {

constexpr uint64_t kWorkspace = uint64_t{32} << 20;
constexpr int kMaxAlgos = 8;

// Column-major, as cuBLAS computes: out' = b' a'.
struct Product {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t first, second, out;
  bool good = true;

  Product(cudaDataType_t type, int64_t batch, int64_t m, int64_t k, int64_t n) {
    check(cublasLtCreate(&handle));
    check(cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    matrix(first, type, n, k, batch);
    matrix(second, type, k, m, batch);
    matrix(out, type, n, m, batch);
  }
  ~Product() {
    if (handle) cublasLtDestroy(handle);
  }
  Product(const Product&) = delete;
  void check(cublasStatus_t s) { good = good && s == CUBLAS_STATUS_SUCCESS; }

 private:
  void matrix(cublasLtMatrixLayoutOpaque_t& l, cudaDataType_t type, int64_t rows, int64_t columns,
              int64_t batch) {
    check(cublasLtMatrixLayoutInit(&l, type, static_cast<uint64_t>(rows),
                                   static_cast<uint64_t>(columns), rows));
    const auto count = static_cast<int32_t>(batch);
    const int64_t apart = rows * columns;
    check(cublasLtMatrixLayoutSetAttribute(&l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                           sizeof count));
    check(cublasLtMatrixLayoutSetAttribute(&l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart,
                                           sizeof apart));
  }
};

double matmul_ms(tenon_bound_type type, int64_t batch, int64_t m, int64_t k, int64_t n) {
  constexpr cudaDataType_t kTypes[] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF};
  const int width = type == TENON_BOUND_FLOAT32 ? 4 : 2;
  const Memory a(batch * m * k * width), b(batch * k * n * width), out(batch * m * n * width),
      work(kWorkspace);
  Product p(kTypes[type], batch, m, k, n);
  if (!p.good || !a.p || !b.p || !out.p || !work.p) return -1;
  fill(a, batch * m * k, width, type == TENON_BOUND_BFLOAT16);
  fill(b, batch * k * n, width, type == TENON_BOUND_BFLOAT16);
  cublasLtMatmulPreferenceOpaque_t preference;
  p.check(cublasLtMatmulPreferenceInit(&preference));
  p.check(cublasLtMatmulPreferenceSetAttribute(
      &preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace));
  cublasLtMatmulHeuristicResult_t algos[kMaxAlgos];
  int found = 0;
  p.check(cublasLtMatmulAlgoGetHeuristic(p.handle, &p.desc, &p.first, &p.second, &p.out, &p.out,
                                         &preference, kMaxAlgos, algos, &found));
  if (!p.good) return -1;
  double best = -1;
  const float one = 1, zero = 0;
  for (int i = 0; i < found; ++i) {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const double ms = device_ms(5, [&] {
      const cublasStatus_t s =
          cublasLtMatmul(p.handle, &p.desc, &one, b.p, &p.first, a.p, &p.second, &zero, out.p,
                         &p.out, out.p, &p.out, &algos[i].algo, work.p, kWorkspace, nullptr);
      if (s != CUBLAS_STATUS_SUCCESS) status = s;
    });
    if (status == CUBLAS_STATUS_SUCCESS && ms >= 0 && (best < 0 || ms < best)) best = ms;
  }
  return best;
}

}  // namespace
}  // namespace tenon::lower_bounds

double tenon_bound_matmul_ms(tenon_bound_type type, int64_t batch, int64_t m, int64_t k,
                             int64_t n) {
  return tenon::lower_bounds::matmul_ms(type, batch, m, k, n);
}
