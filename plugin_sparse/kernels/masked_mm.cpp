// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products of strided matrices at the elements of a sparse one: the gradient of a sparse factor.
#include <algorithm>

#include "plugin_sparse/coo/coo.h"
#include "tenon/sdk/ops/_masked_mm.h"

namespace tenon::coo {
namespace {

// A row of the first matrix and one of the second, transposed.
template <class T>
struct Rows {
  const T *a, *b;
  int64_t a_row, a_step, b_row, b_step, n;

  T product(int64_t i, int64_t j) const {
    constexpr int64_t kLanes = 16;
    const T *x = a + i * a_row, *y = b + j * b_row;
    T sums[kLanes] = {}, rest = 0;
    int64_t k = 0;
    if (a_step == 1 && b_step == 1) {
      for (; k + kLanes <= n; k += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) sums[l] += x[k + l] * y[k + l];
      }
    }
    for (; k < n; ++k) rest += x[k * a_step] * y[k * b_step];
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t l = 0; l < half; ++l) sums[l] += sums[l + half];
    }
    return sums[0] + rest;
  }
};

template <class T>
void dot_rows(const Tensor& out, const Tensor& at, const Tensor& mat1, const Tensor& mat2) {
  const Rows<T> rows{mat1.data<const T>(), mat2.data<const T>(), mat1.stride(0), mat1.stride(1),
                     mat2.stride(1),       mat2.stride(0),       mat1.size(1)};
  const auto* index = at.data<const int64_t>();
  const int64_t along = at.stride(1), other = at.stride(0);
  for (int64_t e = 0; e < out.numel(); ++e) {
    const int64_t i = index[e * along], j = index[other + e * along];
    if (i < 0 || i >= mat1.size(0) || j < 0 || j >= mat2.size(1))
      throw Error(TN_ERROR_INDEX, "index (", i, ", ", j, ") of mask is out of bounds");
  }
  T* to = out.data<T>();
  parallel_for(out.numel(), std::max<int64_t>(1, 16384 / std::max<int64_t>(rows.n, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t e = begin; e < end; ++e)
                   to[e] = rows.product(index[e * along], index[other + e * along]);
               });
}

// In chunks of elements whose rows take a few megabytes.
Tensor composed(Ops& op, const Tensor& at, const Tensor& mat1, const Tensor& mat2) {
  const int64_t n = at.size(1), k = mat1.size(1),
                part = std::max<int64_t>(1, (1 << 20) / std::max<int64_t>(k, 1));
  const int64_t sizes[] = {n}, last = 1;
  const Tensor out = op.empty(Ints(sizes, 1), mat1.dtype(), mat1.device());
  const Tensor columns = op("t", {value(mat2)}), row = op.row(at, 0), column = op.row(at, 1);
  const auto cut = [&](const Tensor& t, int64_t from) {
    return op("slice.Tensor", {value(t), value(int64_t{0}), value(from),
                               value(std::min(n, from + part)), value(int64_t{1})});
  };
  for (int64_t from = 0; from < n; from += part) {
    const Tensor x = op.index_select(mat1, 0, cut(row, from)),
                 y = op.index_select(columns, 0, cut(column, from));
    op.copy(cut(out, from),
            op("sum.dim_IntList", {value(op("mul.Tensor", {value(x), value(y)})),
                                   value(Ints(&last, 1)), value(false), value(out.dtype())}));
  }
  return out;
}

tn_status masked_mm(Call& call, Tensor, Tensor mask, Tensor mat1, Tensor mat2) {
  Ops op(call);
  const Coo at = coalesce(op, mask);
  const int64_t sizes[] = {at.indices.size(1)};
  const bool direct = on_host(mask) && (mat1.dtype() == kFloat32 || mat1.dtype() == kFloat64);
  const Tensor v = direct ? op.empty(Ints(sizes, 1), mat1.dtype(), mat1.device())
                          : composed(op, at.indices, mat1, mat2);
  if (direct && mat1.dtype() == kFloat32) dot_rows<float>(v, at.indices, mat1, mat2);
  if (direct && mat1.dtype() == kFloat64) dot_rows<double>(v, at.indices, mat1, mat2);
  set_output(call, 0, at.indices, v, true);
  return TN_OK;
}
TN_KERNEL(_masked_mm, masked_mm,
          layouts("sparse_coo,strided,strided").any_strides().mixed_dtypes());

}  // namespace
}  // namespace tenon::coo
