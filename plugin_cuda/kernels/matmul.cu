// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// mm, addmm, bmm, baddbmm, mv, addmv and dot of what cuBLASLt does not multiply: integers, and floats that it cannot
// walk. Integers wrap: sums are of 32 bits, or 64 for int64, and their lowest bits are the result. 16-bit floats are
// summed in float.
#include <algorithm>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/launch.cuh"
#include "tenon/sdk/number.h"
#include "tenon/sdk/ops/addmm.h"
#include "tenon/sdk/ops/addmv.h"
#include "tenon/sdk/ops/baddbmm.h"
#include "tenon/sdk/ops/bmm.h"
#include "tenon/sdk/ops/dot.h"
#include "tenon/sdk/ops/mm.h"
#include "tenon/sdk/ops/mv.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Strides in bytes.
struct Matrix {
  char* p = nullptr;
  int64_t batch = 0, row = 0, column = 0;

  Matrix transposed() const { return {p, batch, column, row}; }
  TN_DEVICE char* at(int64_t b, int64_t i, int64_t j) const { return p + b * batch + i * row + j * column; }
};

struct Factor {
  uint64_t whole;
  double real;
  template <class U>
  TN_DEVICE U as() const {
    if constexpr (std::is_floating_point_v<U>) return static_cast<U>(real);
    return static_cast<U>(whole);
  }
};

struct Product {
  Matrix out, a, b, addend;  // addend: null where beta is 0
  int64_t batch, m, n, k;
  Factor alpha{1, 1}, beta{0, 0};
  Code code = Code::F32;

  // The other way round.
  Product transposed() const {
    return {out.transposed(), b.transposed(), a.transposed(), addend.transposed(), batch, n, m, k, alpha, beta, code};
  }
  template <class U>
  TN_DEVICE void put(int64_t b, int64_t i, int64_t j, U sum) const {
    sum *= alpha.as<U>();
    if (addend.p != nullptr) sum += beta.as<U>() * load<U>(addend.at(b, i, j), code);
    if constexpr (std::is_floating_point_v<U>)
      store(out.at(b, i, j), code, sum);
    else
      store(out.at(b, i, j), code, static_cast<int64_t>(sum));
  }
};

// A block computes a tile of kTile * kTile results, a thread kEach * kEach of them.
constexpr int kTile = 64, kDeep = 16, kEach = 4, kThreads = (kTile / kEach) * (kTile / kEach);
constexpr int kPitch = kTile + 1;  // of a line of a tile: neighbours in it lie in other banks than those across it

// Elements [first, first + kTile) of `lines` by [from, from + kDeep) of `k` to to[k][line]; those beyond are 0.
template <class U>
TN_DEVICE void fetch(const Shared<U>& to, const char* p, Code code, int64_t line_stride, int64_t k_stride,
                     int64_t first, int64_t lines, int64_t from, int64_t k, bool along_k) {
  for (int e = static_cast<int>(threadIdx.x); e < kTile * kDeep; e += kThreads) {
    const int line = along_k ? e / kDeep : e % kTile, deep = along_k ? e % kDeep : e / kTile;
    const bool inside = first + line < lines && from + deep < k;
    to[deep * kPitch + line] =
        inside ? load<U>(p + (first + line) * line_stride + (from + deep) * k_stride, code) : U(0);
  }
}

template <class U>
__global__ void by_tiles(Product p) {
  TN_SHARED(U, rows, kDeep * kPitch);
  TN_SHARED(U, columns, kDeep * kPitch);
  const int64_t down = (p.m + kTile - 1) / kTile, across = (p.n + kTile - 1) / kTile;
  const int y = static_cast<int>(threadIdx.x) / (kTile / kEach), x = static_cast<int>(threadIdx.x) % (kTile / kEach);
  const int64_t item = code_bytes(p.code);
  for (int64_t t = blockIdx.x; t < p.batch * down * across; t += gridDim.x) {
    const int64_t batch = t / (down * across), i0 = t / across % down * kTile, j0 = t % across * kTile;
    U sum[kEach][kEach] = {};
    for (int64_t k = 0; k < p.k; k += kDeep) {
      fetch<U>(rows, p.a.at(batch, 0, 0), p.code, p.a.row, p.a.column, i0, p.m, k, p.k, p.a.column == item);
      fetch<U>(columns, p.b.at(batch, 0, 0), p.code, p.b.column, p.b.row, j0, p.n, k, p.k, p.b.row == item);
      __syncthreads();
      TN_UNROLL(16)
      for (int d = 0; d < kDeep; ++d) {
        U left[kEach], right[kEach];
        for (int i = 0; i < kEach; ++i) left[i] = rows[d * kPitch + y + i * (kTile / kEach)];
        for (int j = 0; j < kEach; ++j) right[j] = columns[d * kPitch + x + j * (kTile / kEach)];
        for (int i = 0; i < kEach; ++i) {
          for (int j = 0; j < kEach; ++j) sum[i][j] += left[i] * right[j];
        }
      }
      __syncthreads();
    }
    for (int i = 0; i < kEach; ++i) {
      for (int j = 0; j < kEach; ++j) {
        const int64_t row = i0 + y + i * (kTile / kEach), column = j0 + x + j * (kTile / kEach);
        if (row < p.m && column < p.n) p.put(batch, row, column, sum[i][j]);
      }
    }
  }
}

// A block a result: for one column.
template <class U>
__global__ void by_rows(Product p) {
  for (int64_t t = blockIdx.x; t < p.batch * p.m; t += gridDim.x) {
    const int64_t batch = t / p.m, i = t % p.m;
    U sum = 0;
    TN_UNROLL(4)
    for (int64_t k = threadIdx.x; k < p.k; k += blockDim.x) {
      sum += load<U>(p.a.at(batch, i, k), p.code) * load<U>(p.b.at(batch, k, 0), p.code);
    }
    sum = block_fold(sum, U(0), Add());
    if (threadIdx.x == 0) p.put(batch, i, 0, sum);
  }
}

template <class U>
void run_as(const Call& call, const Product& p) {
  if (p.n == 1) {
    const int size = p.k >= 65536 ? 1024 : p.k >= 1024 ? 256 : p.k >= 128 ? 64 : 32;
    launch<by_rows<U>>(call, {std::min(p.batch * p.m, 8 * kMostBlocks), size}, p);
  } else {
    const int64_t tiles = p.batch * ceil_div(p.m, kTile) * ceil_div(p.n, kTile);
    launch<by_tiles<U>>(call, {std::min(tiles, 8 * kMostBlocks), kThreads}, p);
  }
}

tn_status run(const Call& call, const Product& p) {
  if (p.batch * p.m * p.n == 0) return TN_OK;
  const Product q = p.m == 1 ? p.transposed() : p;
  if (p.code == Code::F64)
    run_as<double>(call, q);
  else if (p.code >= Code::F16)
    run_as<float>(call, q);
  else if (p.code == Code::I64)
    run_as<uint64_t>(call, q);
  else
    run_as<uint32_t>(call, q);
  return TN_OK;
}

// The last two dimensions of t, and the one before them.
Matrix matrix(const Tensor& t) {
  const int64_t item = item_size(t.dtype());
  return {t.data<char>(), t.ndim() > 2 ? t.stride(0) * item : 0, t.stride(-2) * item, t.stride(-1) * item};
}
Matrix column(const Tensor& t) { return {t.data<char>(), 0, t.ndim() ? t.stride(0) * item_size(t.dtype()) : 0, 0}; }

// A factor of whole numbers is whole.
Factor factor(DType dtype, const Scalar& s) {
  if (is_floating(dtype)) return {0, s.to<double>()};
  return dispatch_integral(dtype, [&](auto tag) { return Factor{static_cast<uint64_t>(checked<tn_type(tag)>(s)), 0}; });
}

Product product(const Tensor& out, const Tensor& a, const Tensor& b) {
  Product p{matrix(out), matrix(a), matrix(b), Matrix(), 1, a.size(-2), b.size(-1), a.size(-1)};
  if (out.ndim() > 2) p.batch = out.size(0);
  p.code = code_of(out.dtype());
  return p;
}
Product by_vector(const Tensor& out, const Matrix& a, int64_t rows, const Tensor& x) {
  Product p{column(out), a, column(x), Matrix(), 1, rows, 1, x.size(0)};
  p.code = code_of(out.dtype());
  return p;
}

tn_status with_addend(const Call& call, Product p, const Tensor& out, const Matrix& addend, Scalar beta, Scalar alpha) {
  p.alpha = factor(out.dtype(), alpha);
  p.beta = factor(out.dtype(), beta);
  if (p.beta.whole != 0 || p.beta.real != 0) p.addend = addend;
  return run(call, p);
}

tn_status mm(Call& call, Tensor out, Tensor a, Tensor b) { return run(call, product(out, a, b)); }
tn_status addmm(Call& call, Tensor out, Tensor self, Tensor a, Tensor b, Scalar beta, Scalar alpha) {
  return with_addend(call, product(out, a, b), out, matrix(self), beta, alpha);
}
tn_status mv(Call& call, Tensor out, Tensor a, Tensor x) { return run(call, by_vector(out, matrix(a), a.size(0), x)); }
tn_status addmv(Call& call, Tensor out, Tensor self, Tensor a, Tensor x, Scalar beta, Scalar alpha) {
  return with_addend(call, by_vector(out, matrix(a), a.size(0), x), out, column(self), beta, alpha);
}
tn_status dot(Call& call, Tensor out, Tensor a, Tensor b) {
  return run(call, by_vector(out, column(a).transposed(), 1, b));
}

}  // namespace

// Tried after cuBLASLt's.
TN_KERNEL(mm, mm, dtypes("number").any_strides().priority(-1).capture_safe());
TN_KERNEL(bmm, mm, dtypes("number").any_strides().priority(-1).capture_safe());
TN_KERNEL(addmm, addmm, dtypes("number").any_strides().priority(-1).inplace("0=0").capture_safe());
TN_KERNEL(baddbmm, addmm, dtypes("number").any_strides().priority(-1).inplace("0=0").capture_safe());
TN_KERNEL(mv, mv, dtypes("number").any_strides().priority(-1).capture_safe());
TN_KERNEL(addmv, addmv, dtypes("number").any_strides().priority(-1).inplace("0=0").capture_safe());
TN_KERNEL(dot, dot, dtypes("number").any_strides().priority(-1).capture_safe());

}  // namespace tenon::cuda
