// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators on slices that a vector of indices selects: index_select, index_add, index_copy,
// index_fill, index_reduce.
#include <vector>

#include "plugin_cuda/device/combine.cuh"
#include "tenon/sdk/ops/index_add.h"
#include "tenon/sdk/ops/index_copy.h"
#include "tenon/sdk/ops/index_fill.h"
#include "tenon/sdk/ops/index_reduce.h"
#include "tenon/sdk/ops/index_select.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Vectors of indices into one dimension: each selects a slice. `slices` has the index's length
// there.
void add_slices(IndexLoop& loop, const Tensor& slices, const Tensor& other, const Tensor& index,
                int dim) {
  loop.add(slices, Strides(slices).of);
  loop.add(other, Strides(other, dim).of);
  loop.add_index(index, Strides(slices.ndim(), dim, index.ndim() ? index.stride(0) : 0).of,
                 extent(other, dim), step_of(other, dim));
}

tn_status index_select(Call& call, Tensor out, Tensor self, int64_t given, Tensor index) {
  IndexLoop loop(call, out.sizes());
  add_slices(loop, out, self, index, wrap_dim(given, self.ndim()));
  launch_gather(call, loop, out.dtype());
  return TN_OK;
}

// The loop over written slices. A tensor without dimensions is a slice of one element.
IndexLoop writing_slices(const Call& call, const Tensor& out, int64_t given, const Tensor& index,
                         const Tensor& source) {
  const int dim = wrap_dim(given, out.ndim());
  if (source.ndim() == out.ndim()) {
    IndexLoop loop(call, source.sizes());
    add_slices(loop, source, out, index, dim);
    return loop;
  }
  const int64_t n = index.numel(), none = 0;
  const int64_t from = source.ndim() ? source.stride(0) : 0,
                by = index.ndim() ? index.stride(0) : 0;
  IndexLoop loop(call, Ints(&n, 1));
  loop.add(source, &from);
  loop.add(out, &none);
  loop.add_index(index, &by, extent(out, 0), step_of(out, 0));
  return loop;
}

tn_status index_copy(Call& call, Tensor out, Tensor self, int64_t given, Tensor index,
                     Tensor source) {
  IndexLoop loop = writing_slices(call, out, given, index, source);
  if (call.deterministic()) return combine_elements(call, loop, out, self, {CombineOp::Last});
  copy_unless_same(call, out, self);
  launch_scatter(call, loop, out.dtype());
  return TN_OK;
}

tn_status index_add(Call& call, Tensor out, Tensor self, int64_t given, Tensor index, Tensor source,
                    Scalar alpha) {
  IndexLoop loop = writing_slices(call, out, given, index, source);
  return combine_elements(call, loop, out, self, {CombineOp::Add, true, alpha});
}

tn_status index_reduce(Call& call, Tensor out, Tensor self, int64_t given, Tensor index,
                       Tensor source, Str reduce, bool include_self) {
  IndexLoop loop = writing_slices(call, out, given, index, source);
  return combine_elements(call, loop, out, self, {combine_op_of(reduce), include_self});
}

// The loop over slices that are filled with one value.
IndexLoop filling_slices(const Call& call, const Tensor& out, int64_t given, const Tensor& index,
                         const Tensor& value) {
  const int dim = wrap_dim(given, out.ndim());
  std::vector<int64_t> shape(out.sizes().begin(), out.sizes().end());
  if (!shape.empty()) shape[static_cast<std::size_t>(dim)] = index.numel();
  IndexLoop loop(call, Ints(shape.data(), out.ndim()));
  const Strides along(out.ndim(), dim, index.ndim() ? index.stride(0) : 0);
  loop.by.from_end = true;
  loop.add(value, Strides(out.ndim(), dim, 0).of);
  loop.add(out, Strides(out, dim).of);
  loop.add_index(index, along.of, extent(out, dim), step_of(out, dim));
  return loop;
}

tn_status index_fill(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Scalar value) {
  copy_unless_same(call, out, self);
  if (index.numel() == 0) return TN_OK;  // a scalar's empty shape does not say so
  IndexLoop loop = filling_slices(call, out, dim, index, index);
  launch_scatter_scalar(call, loop, out.dtype(), value);
  return TN_OK;
}

// The value is cast first.
tn_status index_fill_tensor(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index,
                            Tensor value) {
  if (value.device().type == TN_CPU) return TN_DECLINED;
  copy_unless_same(call, out, self);
  if (index.numel() == 0) return TN_OK;
  const tn_tensor cast = view_of(out, call.workspace<char>(), out.dtype(), Ints(nullptr, 0),
                                 nullptr, TN_TENSOR_CONTIGUOUS);
  copy_elements(call, Tensor(&cast), value);
  IndexLoop loop = filling_slices(call, out, dim, index, Tensor(&cast));
  launch_scatter(call, loop, out.dtype());
  return TN_OK;
}

int64_t length_of_index(const tn_call* call) { return Tensor(call->in[2].u.tensor).numel(); }
tn_status index_copy_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = Call(call).deterministic() ? combine_workspace_bytes(length_of_index(call)) : 0;
  return TN_OK;
}
tn_status index_add_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = combine_workspace_bytes(call, length_of_index(call), {CombineOp::Add});
  return TN_OK;
}
tn_status index_reduce_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = combine_workspace_bytes(call, length_of_index(call), combine_rule_of(call));
  return TN_OK;
}
tn_status value_workspace(tn_call*, uint64_t* bytes) {
  *bytes = 16;
  return TN_OK;
}

}  // namespace

TN_KERNEL(index_select, index_select, dtypes("all").any_strides().mixed_dtypes().capture_safe());
TN_KERNEL(index_copy, index_copy,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(index_copy_workspace)
              .capture_safe());
TN_KERNEL(index_add, index_add,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(index_add_workspace)
              .capture_safe());
TN_KERNEL(index_reduce, index_reduce,
          dtypes("number")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(index_reduce_workspace)
              .capture_safe());
TN_KERNEL(index_fill_int_Scalar, index_fill,
          dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(index_fill_int_Tensor, index_fill_tensor,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(value_workspace)
              .capture_safe());

}  // namespace tenon::cuda
