// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Construction from components. An index is checked here, once; unchecked ones are found by the
// loops in host memory, which check each index that they use, and by the operators that the other
// kernels call.
#include <algorithm>
#include <limits>

#include "plugin_sparse/coo/coo.h"
#include "tenon/sdk/ops/_coalesced.h"
#include "tenon/sdk/ops/_from_components.h"
#include "tenon/sdk/ops/_shared_values.h"
#include "tenon/sdk/ops/_sparse_coo_tensor.h"
#include "tenon/sdk/ops/_values_at.h"
#include "tenon/sdk/ops/_with_values.h"
#include "tenon/sdk/ops/empty.h"
#include "tenon/sdk/ops/empty_like.h"
#include "tenon/sdk/ops/zero.h"

namespace tenon::coo {
namespace {

void check_parts(const Tensor& indices, const Tensor& values, Ints sizes) {
  if (indices.dtype() != kInt64) throw Error(TN_ERROR_TYPE, "indices must be an int64 tensor");
  if (indices.ndim() != 2)
    throw Error(TN_ERROR_VALUE, "indices must be sparse_dim x nnz, got a tensor of ",
                indices.sizes());
  if (values.ndim() == 0)
    throw Error(TN_ERROR_VALUE, "values must have one dimension or more, nnz the first");
  if (values.size(0) != indices.size(1))
    throw Error(TN_ERROR_VALUE, "indices and values must have the same nnz, got ", indices.size(1),
                " columns in indices of ", indices.sizes(), " and ", values.size(0),
                " values in values of ", values.sizes());
  if (indices.device().type != values.device().type ||
      indices.device().index != values.device().index)
    throw Error(TN_ERROR_VALUE, "indices and values must be on one device");
  const int64_t sparse = indices.size(0), dense = values.ndim() - 1;
  if (sizes.size() != sparse + dense)
    throw Error(TN_ERROR_VALUE, "number of dimensions must be sparse_dim (", sparse,
                ") + dense_dim (", dense, "), but size has ", sizes.size(), ": ", sizes);
  int64_t elements = 1;
  for (int64_t s : sizes) {
    if (s < 0) throw Error(TN_ERROR_VALUE, "a size must not be negative, got ", sizes);
  }
  for (int64_t d = 0; d < sparse; ++d) {
    if (__builtin_mul_overflow(elements, std::max<int64_t>(sizes[d], 1), &elements))
      throw Error(TN_ERROR_VALUE, "the sparse sizes of ", sizes,
                  " have more elements than an int64 counts");
  }
  for (int64_t d = 0; d < dense; ++d) {
    if (values.size(static_cast<int>(d) + 1) != sizes[sparse + d])
      throw Error(TN_ERROR_VALUE, "values has sizes ", values.sizes(),
                  ", whose last must be those of size ", sizes);
  }
}

void check_range(Ops& op, const Tensor& indices, Ints sizes) {
  if (indices.size(1) == 0) {
    return;
  }
  const int64_t columns = 1;
  const std::vector<int64_t> min_index =
                                 op.read(op("amin", {value(indices), value(Ints(&columns, 1))})),
                             max_index =
                                 op.read(op("amax", {value(indices), value(Ints(&columns, 1))}));
  for (std::size_t d = 0; d < min_index.size(); ++d) {
    const int64_t size = sizes[static_cast<int64_t>(d)];
    if (min_index[d] < 0)
      throw Error(TN_ERROR_VALUE, "found negative index ", min_index[d], " for dim ", int64_t(d));
    if (max_index[d] >= size)
      throw Error(TN_ERROR_VALUE, "size is inconsistent with indices: for dim ", int64_t(d),
                  ", size is ", size, " but found index ", max_index[d]);
  }
}

bool in_order(Ops& op, const Tensor& keys) {
  const int64_t n = keys.numel();
  if (n < 2) return true;
  const auto part = [&](int64_t from) {
    return value(op("narrow", {value(keys), value(int64_t{0}), value(from), value(n - 1)}));
  };
  const Tensor rises = op("all", {value(op("gt.Tensor", {part(1), part(0)}))});
  return op.read(op("to.dtype", {value(rises), value(kInt64)}))[0] != 0;
}

tn_status sparse_coo_tensor(Call& call, Tensor, Tensor indices, Tensor values, Ints sizes,
                            bool check, bool coalesced) {
  check_parts(indices, values, sizes);
  Ops op(call);
  if (!check) {
    set_output(call, 0, indices, values, coalesced);
    return TN_OK;
  }
  // Expanded components have more elements than memory, and one write would change many of them.
  const auto own = [&](const Tensor& t) {
    return t.abi()->flags & TN_TENSOR_OVERLAPPING ? op("contiguous", {value(t)}) : t;
  };
  const Tensor at = own(indices), v = own(values);
  check_range(op, at, sizes);
  set_output(call, 0, at, v, coalesced);
  return TN_OK;
}
TN_KERNEL(_sparse_coo_tensor, sparse_coo_tensor,
          layouts("strided|sparse_coo").mixed_dtypes().any_strides());

tn_status with_values(Call& call, Tensor, Tensor self, Tensor values) {
  const std::vector<int64_t> sizes = value_sizes(nnz(self), self.sizes(), sparse_dim(self));
  if (!std::equal(sizes.begin(), sizes.end(), values.sizes().begin(), values.sizes().end()))
    throw Error(TN_ERROR_VALUE, "expected values of ", span(sizes), ", got a tensor of ",
                values.sizes());
  set_output(call, 0, indices(self), values, coalesced(self));
  return TN_OK;
}
TN_KERNEL(_with_values, with_values, layouts("sparse_coo,strided").mixed_dtypes().any_strides());

tn_status mark(Call& call, Tensor, Tensor self, bool coalesced) {
  set_output(call, 0, indices(self), values(self), coalesced);
  return TN_OK;
}
TN_KERNEL(_coalesced, mark, layouts("sparse_coo").any_strides());

tn_status shared_values(Call& call, Tensor out, Tensor self) {
  if (!coalesced(self))
    throw Error(TN_ERROR_VALUE,
                "cannot get values on an uncoalesced tensor, please call .coalesce() first");
  Ops op(call);
  op.copy(out, values(self));
  return TN_OK;
}
TN_KERNEL(_shared_values, shared_values, layouts("sparse_coo").any_strides());

// The components may come from a file: nothing is trusted.
tn_status from_components(Call& call, Tensor, TensorList parts, Ints sizes, int64_t flags,
                          std::optional<Layout>) {
  if (parts.size() != 2 || !parts[0].defined() || !parts[1].defined())
    throw Error(TN_ERROR_VALUE, "expected indices and values, got ", parts.size(), " components");
  const Tensor at = parts[kIndices], v = parts[kValues];
  check_parts(at, v, sizes);
  Ops op(call);
  check_range(op, at, sizes);
  if ((flags & kCoalesced) && !in_order(op, op.keys(at, Ints(sizes.data(), at.size(0)))))
    throw Error(
        TN_ERROR_VALUE,
        "the tensor is said to be coalesced, but its indices are not in order or not distinct");
  set_output(call, 0, at, v, flags & kCoalesced);
  return TN_OK;
}
TN_KERNEL(_from_components, from_components,
          layouts("strided|sparse_coo").mixed_dtypes().any_strides());

// If the result is strided, core has created it.
tn_status empty_like(Call& call, Tensor out, Tensor self, std::optional<DType>,
                     std::optional<Layout>, std::optional<Device>, std::optional<bool>,
                     std::optional<int64_t>) {
  if (is_strided(out)) return TN_OK;
  set_empty_output(call, self.sizes(), is_strided(self) ? self.ndim() : sparse_dim(self),
                   out.dtype());
  return TN_OK;
}
TN_KERNEL(empty_like, empty_like, layouts("strided|sparse_coo").any_strides());

tn_status empty(Call& call, Tensor out, Ints sizes, std::optional<DType>, std::optional<Layout>,
                std::optional<Device>, std::optional<bool>, std::optional<int64_t>) {
  set_empty_output(call, sizes, static_cast<int>(sizes.size()), out.dtype());
  return TN_OK;
}
TN_KERNEL(empty_memory_format, empty, layouts("sparse_coo").any_strides());

tn_status zero(Call& call, Tensor, Tensor self) {
  set_empty_output(call, self.sizes(), sparse_dim(self), self.dtype());
  return TN_OK;
}
TN_KERNEL(zero, zero, layouts("sparse_coo").any_strides());

}  // namespace
}  // namespace tenon::coo
