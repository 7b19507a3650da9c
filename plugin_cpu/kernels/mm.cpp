// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// mm, addmm, bmm, baddbmm, mv, addmv, dot. Overwritten: the output. With beta 0 the addend is not
// read.
#include "tenon/sdk/ops/mm.h"
#include "tenon/sdk/ops/addmm.h"
#include "tenon/sdk/ops/addmv.h"
#include "tenon/sdk/ops/baddbmm.h"
#include "tenon/sdk/ops/bmm.h"
#include "tenon/sdk/ops/dot.h"
#include "tenon/sdk/ops/mv.h"

#include "plugin_cpu/gemm/gemm.h"
#include "tenon/sdk/number.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::gemm;
using tenon::cpu::Mat;
using tenon::cpu::packed::origin;

const Scalar kZero = Scalar::of(int64_t{0}), kOne = Scalar::of(int64_t{1});

// The stride of a dimension of size 1 has no meaning; 1 lets the product take its contiguous path.
int64_t step(Tensor t, int d) { return t.size(d) == 1 ? 1 : t.stride(d); }

char* at(Tensor t, int64_t elements) { return t.data<char>() + elements * item_size(t.dtype()); }

// Dimensions d and d + 1 of t, from `offset` elements on.
Mat<void> matrix(Tensor t, int d = 0, int64_t offset = 0) {
  const int64_t rs = t.stride(d), cs = step(t, d + 1);
  return {at(t, offset), t.size(d) == 1 && cs == 1 ? t.size(d + 1) : rs, cs};
}
Mat<const void> operand(Tensor t, int d = 0, int64_t offset = 0) {
  const Mat<void> m = matrix(t, d, offset);
  return {m.data, m.rs, m.cs};
}
Mat<void> column(Tensor t) { return {t.data(), step(t, 0), 1}; }
Mat<const void> column_operand(Tensor t) { return {t.data(), step(t, 0), 1}; }

// The factor of an integer product is an integer. Converted before anything is written, since this
// may fail.
Scalar factor(Tensor out, Scalar s) {
  if (!is_integral(out.dtype())) return s;
  return dispatch_integral(out.dtype(), [&](auto tag) {
    return Scalar::of(static_cast<int64_t>(tenon::sdk::checked<tn_type(tag)>(s)));
  });
}

// Copies self to out, and returns the factor by which the product scales it; with 0 the product
// overwrites out, and self is not read.
Scalar copy_addend(Tensor out, Tensor self, Scalar beta) {
  beta = factor(out, beta);
  if (beta.to<double>() == 0) return kZero;
  if (out.data() == self.data()) return beta;
  dispatch_number(out.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    const int n = out.ndim();
    const int64_t rows = n > 1 ? out.size(-2) : 1, cols = out.size(-1),
                  batches = n > 2 ? out.size(0) : 1;
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, cols));
    parallel_for(batches * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t q = i / rows, r = i % rows;
        const int64_t to = (n > 2 ? q * out.stride(0) : 0) + (n > 1 ? r * out.stride(-2) : 0);
        const int64_t from = (n > 2 ? q * self.stride(0) : 0) + (n > 1 ? r * self.stride(-2) : 0);
        T* o = out.data<T>() + to;
        const T* s = self.data<T>() + from;
        const int64_t os = out.stride(-1), ss = self.stride(-1);
        for (int64_t j = 0; j < cols; ++j) o[j * os] = s[j * ss];
      }
    });
  });
  return beta;
}

tn_status mm(Call&, Tensor out, Tensor self, Tensor mat2) {
  gemm(out.dtype(), self.size(0), mat2.size(1), self.size(1), kOne, operand(self), operand(mat2),
       kZero, matrix(out), origin(mat2));
  return TN_OK;
}

template <class T>
Mat<const T> typed(Mat<const void> m) {
  return {static_cast<const T*>(m.data), m.rs, m.cs};
}

// The addend is read where the sums are stored.
template <class T>
tn_status add_product(Tensor out, Tensor self, Tensor mat1, Tensor mat2, Scalar beta,
                      Scalar alpha) {
  const Mat<void> c = matrix(out);
  gemm(mat1.size(0), mat2.size(1), mat1.size(1), alpha.to<T>(), typed<T>(operand(mat1)),
       typed<T>(operand(mat2)), beta.to<T>(), Mat<T>{static_cast<T*>(c.data), c.rs, c.cs},
       origin(mat2), out.data() == self.data() ? Mat<const T>{} : typed<T>(operand(self)));
  return TN_OK;
}

tn_status addmm(Call&, Tensor out, Tensor self, Tensor mat1, Tensor mat2, Scalar beta,
                Scalar alpha) {
  alpha = factor(out, alpha);
  if (out.dtype() == kFloat32) return add_product<float>(out, self, mat1, mat2, beta, alpha);
  if (out.dtype() == kFloat64) return add_product<double>(out, self, mat1, mat2, beta, alpha);
  beta = copy_addend(out, self, beta);
  gemm(out.dtype(), mat1.size(0), mat2.size(1), mat1.size(1), alpha, operand(mat1), operand(mat2),
       beta, matrix(out), origin(mat2));
  return TN_OK;
}

void batched(Tensor out, Tensor a, Tensor b, Scalar alpha, Scalar beta) {
  const int64_t count = out.size(0), m = a.size(1), k = a.size(2), n = b.size(2);
  tenon::cpu::each_product(count, m * n * k, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      gemm(out.dtype(), m, n, k, alpha, operand(a, 1, i * a.stride(0)),
           operand(b, 1, i * b.stride(0)), beta, matrix(out, 1, i * out.stride(0)));
    }
  });
}

tn_status bmm(Call&, Tensor out, Tensor self, Tensor mat2) {
  batched(out, self, mat2, kOne, kZero);
  return TN_OK;
}

tn_status baddbmm(Call&, Tensor out, Tensor self, Tensor batch1, Tensor batch2, Scalar beta,
                  Scalar alpha) {
  alpha = factor(out, alpha);
  beta = copy_addend(out, self, beta);
  batched(out, batch1, batch2, alpha, beta);
  return TN_OK;
}

tn_status mv(Call&, Tensor out, Tensor self, Tensor vec) {
  gemm(out.dtype(), self.size(0), 1, self.size(1), kOne, operand(self), column_operand(vec), kZero,
       column(out));
  return TN_OK;
}

tn_status addmv(Call&, Tensor out, Tensor self, Tensor mat, Tensor vec, Scalar beta, Scalar alpha) {
  alpha = factor(out, alpha);
  beta = copy_addend(out, self, beta);
  gemm(out.dtype(), mat.size(0), 1, mat.size(1), alpha, operand(mat), column_operand(vec), beta,
       column(out));
  return TN_OK;
}

tn_status dot(Call&, Tensor out, Tensor self, Tensor tensor) {
  gemm(out.dtype(), 1, 1, self.size(0), kOne, {self.data(), 1, step(self, 0)},
       column_operand(tensor), kZero, {out.data(), 1, 1});
  return TN_OK;
}

}  // namespace

TN_KERNEL(mm, mm, dtypes("number").any_strides());
TN_KERNEL(addmm, addmm, dtypes("number").any_strides().inplace("0=0"));
TN_KERNEL(bmm, bmm, dtypes("number").any_strides());
TN_KERNEL(baddbmm, baddbmm, dtypes("number").any_strides().inplace("0=0"));
TN_KERNEL(mv, mv, dtypes("number").any_strides());
TN_KERNEL(addmv, addmv, dtypes("number").any_strides().inplace("0=0"));
TN_KERNEL(dot, dot, dtypes("number").any_strides());
