// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Other sizes for a sparse tensor. While it has elements its dimensions keep their kinds, and none
// gets smaller.
#include "plugin_sparse/coo/coo.h"
#include "tenon/sdk/ops/_resize_components.h"
#include "tenon/sdk/ops/sparse_resize.h"
#include "tenon/sdk/ops/sparse_resize_and_clear.h"

namespace tenon::coo {
namespace {

void check_sizes(Ints sizes, int64_t sparse, int64_t dense) {
  if (sparse < 0 || dense < 0 || sparse + dense != sizes.size())
    throw Error(TN_ERROR_VALUE, "number of dimensions must be sparse_dim (", sparse,
                ") + dense_dim (", dense, "), but size has ", sizes.size(), ": ", sizes);
  int64_t elements = 1;
  for (int64_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0) throw Error(TN_ERROR_VALUE, "a size must not be negative, got ", sizes);
    if (d < sparse && __builtin_mul_overflow(elements, std::max<int64_t>(sizes[d], 1), &elements))
      throw Error(TN_ERROR_VALUE, "the sparse sizes of ", sizes,
                  " have more elements than an int64 counts");
  }
}

void resize(Call& call, const Tensor& self, Ints sizes, int64_t sparse, int64_t dense) {
  check_sizes(sizes, sparse, dense);
  if (nnz(self) == 0) return set_empty_output(call, sizes, static_cast<int>(sparse), self.dtype());
  if (sparse != sparse_dim(self) || dense != dense_dim(self))
    throw Error(TN_ERROR_VALUE, "a tensor with elements keeps its ", int64_t{sparse_dim(self)},
                " sparse and ", int64_t{dense_dim(self)}, " dense dimensions, got ", sparse,
                " and ", dense, "; sparse_resize_and_clear_ drops the elements");
  std::vector<int64_t> zeros;  // padding after each dense dimension, the last one first
  for (int64_t d = sizes.size() - 1; d >= 0; --d) {
    const int64_t more = sizes[d] - self.size(static_cast<int>(d));
    if (more < 0)
      throw Error(TN_ERROR_VALUE, "a tensor with elements cannot shrink from ", self.sizes(),
                  " to ", sizes, "; sparse_resize_and_clear_ drops the elements");
    if (d >= sparse) zeros.insert(zeros.end(), {0, more});
  }
  Ops op(call);
  const Tensor v = zeros.empty() ? values(self)
                                 : op("constant_pad_nd",
                                      {value(values(self)), value(span(zeros)), value(int64_t{0})});
  set_output(call, 0, indices(self), v, coalesced(self));
}

tn_status sparse_resize(Call& call, Tensor, Tensor self, Ints sizes, int64_t sparse,
                        int64_t dense) {
  resize(call, self, sizes, sparse, dense);
  return TN_OK;
}
TN_KERNEL(sparse_resize, sparse_resize, layouts("sparse_coo").any_strides());

tn_status clear(Call& call, Tensor, Tensor self, Ints sizes, int64_t sparse, int64_t dense) {
  check_sizes(sizes, sparse, dense);
  set_empty_output(call, sizes, static_cast<int>(sparse), self.dtype());
  return TN_OK;
}
TN_KERNEL(sparse_resize_and_clear, clear, layouts("sparse_coo").any_strides());

// Of an empty tensor the dimensions may become more or fewer: those that come or go are sparse
// ones.
tn_status resize_components(Call& call, Tensor, Tensor self, Ints sizes) {
  const int64_t dense = std::min<int64_t>(dense_dim(self), sizes.size());
  resize(call, self, sizes, sizes.size() - dense, dense);
  return TN_OK;
}
TN_KERNEL(_resize_components, resize_components, layouts("sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
