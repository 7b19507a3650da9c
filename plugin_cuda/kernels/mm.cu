// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// mm, addmm, bmm, baddbmm, mv, addmv and dot where cuBLASLt cannot be used: integers, and floats
// with irregular strides. Integers wrap: sums are of 32 bits, or 64 for int64, and their lowest
// bits are the result. 16-bit floats are summed in float.
#include <algorithm>

#include "plugin_cuda/device/block.cuh"
#include "plugin_cuda/device/dense.cuh"
#include "plugin_cuda/device/product.cuh"
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
  TN_DEVICE char* at(int64_t b, int64_t i, int64_t j) const {
    return p + b * batch + i * row + j * column;
  }
};

struct Factor {
  uint64_t integer;
  double real;
  template <class U>
  TN_DEVICE U as() const {
    if constexpr (std::is_floating_point_v<U>) return static_cast<U>(real);
    return static_cast<U>(integer);
  }
};

struct Product {
  Matrix out, a, b, addend;  // addend: null where beta is 0
  int64_t batch, m, n, k;
  Factor alpha{1, 1}, beta{0, 0};
  Code code = Code::F32;

  // out' = b' a'
  Product transposed() const {
    return {out.transposed(),
            b.transposed(),
            a.transposed(),
            addend.transposed(),
            batch,
            n,
            m,
            k,
            alpha,
            beta,
            code};
  }
  TN_DEVICE bool left_along_k() const { return a.column == code_bytes(code); }
  TN_DEVICE bool right_along_k() const { return b.row == code_bytes(code); }
  template <class U>
  TN_DEVICE U left(int64_t q, int64_t i, int64_t l) const {
    return load<U>(a.at(q, i, l), code);
  }
  template <class U>
  TN_DEVICE U right(int64_t q, int64_t l, int64_t j) const {
    return load<U>(b.at(q, l, j), code);
  }
  template <class U>
  TN_DEVICE void put(int64_t q, int64_t i, int64_t j, U sum) const {
    sum *= alpha.as<U>();
    if (addend.p != nullptr) sum += beta.as<U>() * load<U>(addend.at(q, i, j), code);
    store_sum(out.at(q, i, j), code, sum);
  }
};

// One block per result: for one column.
template <class U>
__global__ void by_rows(Product p) {
  for (int64_t t = blockIdx.x; t < p.batch * p.m; t += gridDim.x) {
    const int64_t batch = t / p.m, i = t % p.m;
    U sum = 0;
    TN_UNROLL(4)
    for (int64_t k = threadIdx.x; k < p.k; k += blockDim.x) {
      sum += p.left<U>(batch, i, k) * p.right<U>(batch, k, 0);
    }
    sum = block_reduce(sum, U(0), Add());
    if (threadIdx.x == 0) p.put(batch, i, 0, sum);
  }
}

template <class U>
void run_as(const Call& call, const Product& p) {
  if (p.n == 1) {
    const int size = p.k >= 65536 ? 1024 : p.k >= 1024 ? 256 : p.k >= 128 ? 64 : 32;
    launch<by_rows<U>>(call, {std::min(p.batch * p.m, 8 * max_blocks(call)), size}, p);
  } else {
    launch_product<U>(call, p);
  }
}

tn_status run(const Call& call, const Product& p) {
  if (p.batch * p.m * p.n == 0) return TN_OK;
  const Product q = p.m == 1 ? p.transposed() : p;
  with_sum(p.code, [&](auto tag) { run_as<tn_type(tag)>(call, q); });
  return TN_OK;
}

// The last two dimensions of t, and the one before them.
Matrix matrix(const Tensor& t) {
  const int64_t item = item_size(t.dtype());
  return {t.data<char>(), t.ndim() > 2 ? t.stride(0) * item : 0, t.stride(-2) * item,
          t.stride(-1) * item};
}
Matrix column(const Tensor& t) {
  return {t.data<char>(), 0, t.ndim() ? t.stride(0) * item_size(t.dtype()) : 0, 0};
}

// Integer dtypes need integer factors.
Factor factor(DType dtype, const Scalar& s) {
  if (is_floating(dtype)) return {0, s.to<double>()};
  return dispatch_integral(dtype, [&](auto tag) {
    return Factor{static_cast<uint64_t>(checked<tn_type(tag)>(s)), 0};
  });
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

tn_status with_addend(const Call& call, Product p, const Tensor& out, const Matrix& addend,
                      Scalar beta, Scalar alpha) {
  p.alpha = factor(out.dtype(), alpha);
  p.beta = factor(out.dtype(), beta);
  if (p.beta.integer != 0 || p.beta.real != 0) p.addend = addend;
  return run(call, p);
}

tn_status mm(Call& call, Tensor out, Tensor a, Tensor b) { return run(call, product(out, a, b)); }
tn_status addmm(Call& call, Tensor out, Tensor self, Tensor a, Tensor b, Scalar beta,
                Scalar alpha) {
  return with_addend(call, product(out, a, b), out, matrix(self), beta, alpha);
}
tn_status mv(Call& call, Tensor out, Tensor a, Tensor x) {
  return run(call, by_vector(out, matrix(a), a.size(0), x));
}
tn_status addmv(Call& call, Tensor out, Tensor self, Tensor a, Tensor x, Scalar beta,
                Scalar alpha) {
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
TN_KERNEL(baddbmm, addmm,
          dtypes("number").any_strides().priority(-1).inplace("0=0").capture_safe());
TN_KERNEL(mv, mv, dtypes("number").any_strides().priority(-1).capture_safe());
TN_KERNEL(addmv, addmv, dtypes("number").any_strides().priority(-1).inplace("0=0").capture_safe());
TN_KERNEL(dot, dot, dtypes("number").any_strides().priority(-1).capture_safe());

}  // namespace tenon::cuda
