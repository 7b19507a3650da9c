// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of matrices by cuBLASLt, in the row-major terms of Tenon.
#pragma once

#include <cublasLt.h>

#include "tenon/sdk/kernel.h"

namespace tenon::cuda {

// A matrix, or a batch of them, in memory that cuBLAS can walk: one of its dimensions has neighbors.
struct Matrix {
  const void* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t lead = 0;   // elements between rows, or between columns where these lie side by side
  int64_t apart = 0;  // elements between the matrices of a batch
  bool by_columns = false;
};

// False where no dimension has stride 1: the matrix must be copied first. 2 dimensions, or 3 with a batch.
bool as_matrix(const sdk::Tensor& t, Matrix& out);

// What a product's elements go through last; gelu in the form with tanh.
enum class Activation : int64_t { None, Relu, Gelu };

// out = alpha * a b + beta * c, with `bias` added to every row where there is one. `c` may be `out`.
struct Gemm {
  Matrix out, a, b, c;
  const void* bias = nullptr;
  int64_t batch = 1;
  sdk::DType dtype{};
  double alpha = 1, beta = 0;
  Activation activation = Activation::None;
};

// How cuBLAS would do it: found once for a shape and kept.
struct GemmPlan {
  cublasLtMatmulAlgo_t algo;
  uint64_t workspace = 0;
  bool found = true;  // false: it has no product with this activation; products without one are an error then
};
GemmPlan plan_of(const Gemm& g, int index);
void run(const Gemm& g, int index, cudaStream_t stream, void* workspace, uint64_t workspace_bytes);

// The library's version where it is another major than the plugin was built with: a reason to refuse to load.
std::string blas_fault();
void stop_blas();

}  // namespace tenon::cuda
