// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products of every dtype and every stride. C = alpha * A B + beta * C; with beta 0, C is
// not read. Every element of C is one chain of multiply-adds over k in order, or the sum of the
// lanes of a vector in products with a vector and in last columns, whatever the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugin_cpu/gemm/epilogue.h"
#include "plugin_cpu/memory/packed.h"
#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

// Element (i, j) is data[i * rs + j * cs].
template <class T>
struct Mat {
  T* data = nullptr;
  int64_t rs = 0, cs = 0;
  Mat transposed() const { return {data, cs, rs}; }
};

// Below this many multiply-adds a product runs on the calling thread.
inline constexpr int64_t kGemmSerial = 96 * 96 * 96;

// f(begin, end) for `count` products of `work` multiply-adds each: a few large ones one by one,
// which are parallelized by themselves.
template <class F>
void each_product(int64_t count, int64_t work, F&& f) {
  work = std::max<int64_t>(1, work);
  if (work > kGemmSerial && count < 8)
    f(int64_t{0}, count);
  else
    sdk::parallel_for(count, std::max<int64_t>(1, kGemmSerial / 4 / work), f);
}

// `b_from`: the storage of B. `addend`: what beta scales instead of C, which is not read then.
// `finish`: what finishes C, of rows that are contiguous; its blocks are finished where they were
// computed, while they are in the cache.
void gemm(int64_t m, int64_t n, int64_t k, float alpha, Mat<const float> a, Mat<const float> b,
          float beta, Mat<float> c, const packed::Origin& b_from = {}, Mat<const float> addend = {},
          const Finish* finish = nullptr);
void gemm(int64_t m, int64_t n, int64_t k, double alpha, Mat<const double> a, Mat<const double> b,
          double beta, Mat<double> c, const packed::Origin& b_from = {},
          Mat<const double> addend = {});

// Weights packed by the caller: elements of the memory, packing [k, n], and C = A B on the calling
// thread. Columns of C past n are written as zeros up to a whole vector if n says so.
template <class T>
int64_t gemm_packed_size(int64_t n, int64_t k);
template <>
int64_t gemm_packed_size<float>(int64_t n, int64_t k);
template <>
int64_t gemm_packed_size<double>(int64_t n, int64_t k);
void gemm_pack(int64_t n, int64_t k, Mat<const float> b, float* to);
void gemm_pack(int64_t n, int64_t k, Mat<const double> b, double* to);
void gemm_packed(int64_t m, int64_t n, int64_t k, Mat<const float> a, const float* b, Mat<float> c);
void gemm_packed(int64_t m, int64_t n, int64_t k, Mat<const double> a, const double* b,
                 Mat<double> c);

// Any dtype. 16-bit floats are widened to float and rounded once; integers wrap.
void gemm(sdk::DType dtype, int64_t m, int64_t n, int64_t k, sdk::Scalar alpha, Mat<const void> a,
          Mat<const void> b, sdk::Scalar beta, Mat<void> c, const packed::Origin& b_from = {});

// bfloat16 on a unit of tiles; false if there is none or the product is too small for it, then
// nothing was written.
bool gemm_tiles(int64_t m, int64_t n, int64_t k, float alpha, Mat<const sdk::BFloat16> a,
                Mat<const sdk::BFloat16> b, float beta, Mat<sdk::BFloat16> c);

// bfloat16, C = A B; false if the machine or the shape does not suit oneDNN, then nothing was
// written.
bool gemm_bf16_onednn(int64_t m, int64_t n, int64_t k, Mat<const void> a, Mat<const void> b,
                      Mat<void> c);

}  // namespace tenon::cpu
