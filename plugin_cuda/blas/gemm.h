// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices by cuBLASLt, for row-major matrices.
#pragma once

#include <cublasLt.h>

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// A matrix, or a batch of them, with strides that cuBLAS supports: one dimension is contiguous.
struct Matrix {
  const void* data = nullptr;
  int64_t rows = 0, columns = 0;
  // The leading dimension: elements between rows, or between columns if `by_columns`.
  int64_t lead = 0;
  int64_t apart = 0;  // elements between the matrices of a batch
  bool by_columns = false;
};

// False if no dimension has stride 1: the matrix must be copied first. 2 dimensions, or 3 with a
// batch.
bool as_matrix(const sdk::Tensor& t, Matrix& out);

// The activation of a product; gelu is the tanh approximation.
enum class Activation : int64_t { None, Relu, Gelu };

// out = alpha * a b + beta * c, with `bias`, if any, added to every row. `c` may be `out`.
struct Gemm {
  Matrix out, a, b, c;
  const void* bias = nullptr;
  int64_t batch = 1;
  sdk::DType dtype{};
  double alpha = 1, beta = 0;
  Activation activation = Activation::None;
};

// cuBLAS's algorithm for a problem, cached.
struct GemmPlan {
  cublasLtMatmulAlgo_t algo;
  uint64_t workspace = 0;
  // false: no algorithm with this activation; without an activation that is an error
  bool found = true;
};
GemmPlan plan_of(const Gemm& g, int index);
void run(const Gemm& g, int index, cudaStream_t stream, void* workspace, uint64_t workspace_bytes);

// Why the library's version does not fit, or an empty text.
std::string blas_fault();
void stop_blas();

}  // namespace tenon::cuda
