// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// gather, scatters, and operators on slices selected by a vector of indices.
#include "plugin_cuda/device/indexed.cuh"

#include <vector>

#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/embedding.h"
#include "tenon/sdk/ops/gather.h"
#include "tenon/sdk/ops/index_add.h"
#include "tenon/sdk/ops/index_copy.h"
#include "tenon/sdk/ops/index_fill.h"
#include "tenon/sdk/ops/index_reduce.h"
#include "tenon/sdk/ops/index_select.h"
#include "tenon/sdk/ops/prim_scatter.h"
#include "tenon/sdk/ops/scatter.h"
#include "tenon/sdk/ops/scatter_add.h"
#include "tenon/sdk/ops/scatter_reduce.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class U, int N>
__global__ void gather_elements(Strided<N> at, Indices by) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *to, *from;
    find_addresses(at, by, i, &to, &from);
    write(to, read<U>(from));
  }
}

template <class U, int N>
__global__ void scatter_elements(Strided<N> at, Indices by) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    find_addresses(at, by, i, &from, &to);
    write(to, read<U>(from));
  }
}

// Without a dense operand: one value for all.
template <class U, int N>
__global__ void scatter_scalar(Strided<N> at, Indices by, U value) {
  for (int64_t i = global_thread(); i < at.numel; i += global_threads()) {
    char *from, *to;
    find_addresses(at, by, i, &from, &to);
    write(to, value);
  }
}

}  // namespace

void launch_gather(const Call& call, IndexLoop& loop, DType dtype) {
  dispatch_size(dtype, [&](auto tag) {
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<gather_elements<tn_type(tag), At::kOperands>>(call, shape_for(call, at.numel, 256, 2),
                                                           at, loop.by);
    });
  });
}
void launch_scatter(const Call& call, IndexLoop& loop, DType dtype) {
  dispatch_size(dtype, [&](auto tag) {
    loop.run([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<scatter_elements<tn_type(tag), At::kOperands>>(call, shape_for(call, at.numel, 256, 2),
                                                            at, loop.by);
    });
  });
}
void launch_scatter_scalar(const Call& call, IndexLoop& loop, DType dtype, const Scalar& value) {
  dispatch_size(dtype, [&](auto tag) {
    using U = tn_type(tag);
    const U bits = static_cast<U>(bits_of(dtype, value));
    loop.run_one([&](const auto& at) {
      using At = std::decay_t<decltype(at)>;
      launch<scatter_scalar<U, At::kOperands>>(call, shape_for(call, at.numel, 256, 2), at, loop.by,
                                               bits);
    });
  });
}
namespace {

tn_status gather(Call& call, Tensor out, Tensor self, int64_t given, Tensor index, bool) {
  const int dim = wrap_dim(given, self.ndim());
  IndexLoop loop(call, index.sizes());
  loop.add(out, Strides(out).of);
  loop.add(self, Strides(self, dim).of);
  loop.add_index(index, Strides(index).of, extent(self, dim), step_of(self, dim));
  launch_gather(call, loop, out.dtype());
  return TN_OK;
}

// The loop of the scatter operators: src may be undefined.
void add_scatter(IndexLoop& loop, const Tensor& out, int64_t given, const Tensor& index,
                 const Tensor& src) {
  const int dim = wrap_dim(given, out.ndim());
  if (src.defined())
    loop.add(src, Strides(src).of);
  else
    loop.add(index, Strides(index).of);
  loop.add(out, Strides(out, dim).of);
  loop.add_index(index, Strides(index).of, extent(out, dim), step_of(out, dim));
}

// Different indices of a loop over the index's shape; a dimension of stride 0 repeats them.
int64_t combinations(const Tensor& index, int dim) {
  int64_t n = 1;
  for (int d = 0; d < index.ndim(); ++d) {
    if (index.stride(d) != 0 || d == dim) n *= index.size(d);
  }
  return n;
}

tn_status scatter_src(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src) {
  IndexLoop loop(call, index.sizes());
  add_scatter(loop, out, dim, index, src);
  if (call.deterministic()) return combine_elements(call, loop, out, self, {CombineOp::Last});
  copy_unless_same(call, out, self);
  launch_scatter(call, loop, out.dtype());
  return TN_OK;
}

tn_status scatter_value(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index,
                        Scalar value) {
  copy_unless_same(call, out, self);
  IndexLoop loop(call, index.sizes());
  add_scatter(loop, out, dim, index, Tensor());
  launch_scatter_scalar(call, loop, out.dtype(), value);
  return TN_OK;
}

tn_status scatter_combine(const Call& call, const Tensor& out, const Tensor& self, int64_t dim,
                          const Tensor& index, const Tensor& src, const CombineRule& how) {
  IndexLoop loop(call, index.sizes());
  add_scatter(loop, out, dim, index, src);
  return combine_elements(call, loop, out, self, how);
}

tn_status scatter_add(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src) {
  return scatter_combine(call, out, self, dim, index, src, {CombineOp::Add});
}
tn_status scatter_reduce(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src,
                         Str reduce, bool include_self) {
  return scatter_combine(call, out, self, dim, index, src, {combine_op_of(reduce), include_self});
}

constexpr CombineOp kScatterOps[] = {CombineOp::Last, CombineOp::Add, CombineOp::Max,
                                     CombineOp::Min, CombineOp::Multiply};  // by code

tn_status prim_scatter(Call& call, Tensor out, Tensor self, int64_t dim, Tensor index, Tensor src,
                       int64_t code) {
  if (code > TN_SCATTER_MUL) return TN_DECLINED;
  if (code == TN_SCATTER_SET) return scatter_src(call, out, self, dim, index, src);
  return scatter_combine(call, out, self, dim, index, src, {kScatterOps[code]});
}

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

tn_status embedding(Call& call, Tensor out, Tensor weight, Tensor indices, int64_t, bool, bool) {
  IndexLoop loop(call, out.sizes());
  loop.add(out, Strides(out).of);
  loop.add(weight, Strides(out.ndim(), out.ndim() - 1, weight.stride(1)).of);
  int64_t along[kMaxDims];
  for (int d = 0; d < indices.ndim(); ++d) along[d] = indices.stride(d);
  along[indices.ndim()] = 0;
  loop.add_index(indices, along, weight.size(0), step_of(weight, 0));
  launch_gather(call, loop, out.dtype());
  return TN_OK;
}

// Workspaces: a fixed order needs a sort.
Tensor argument(const tn_call* call, int i) { return Tensor(call->in[i].u.tensor); }
uint64_t bytes_for(tn_call* call, int64_t n, const CombineRule& how) {
  return combines_in_order(Call(call), argument(call, 0).dtype(), how) ? combine_workspace_bytes(n)
                                                                       : 0;
}
int64_t scattered(const tn_call* call) {
  return combinations(argument(call, 2), wrap_dim(call->in[1].u.i64, argument(call, 0).ndim()));
}
CombineRule rule_of(const tn_call* call) {
  return {combine_op_of(Str(call->in[4].u.str, call->in[4].len)), call->in[5].u.i64 != 0};
}
tn_status scatter_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = Call(call).deterministic() ? combine_workspace_bytes(scattered(call)) : 0;
  return TN_OK;
}
tn_status scatter_add_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = bytes_for(call, scattered(call), {CombineOp::Add});
  return TN_OK;
}
tn_status scatter_reduce_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = bytes_for(call, scattered(call), rule_of(call));
  return TN_OK;
}
tn_status prim_scatter_workspace(tn_call* call, uint64_t* bytes) {
  const int64_t code = call->in[4].u.i64;
  if (code == TN_SCATTER_SET) return scatter_workspace(call, bytes);
  *bytes = code > TN_SCATTER_MUL ? 0 : bytes_for(call, scattered(call), {kScatterOps[code]});
  return TN_OK;
}
tn_status index_copy_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = Call(call).deterministic() ? combine_workspace_bytes(argument(call, 2).numel()) : 0;
  return TN_OK;
}
tn_status index_add_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = bytes_for(call, argument(call, 2).numel(), {CombineOp::Add});
  return TN_OK;
}
tn_status index_reduce_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = bytes_for(call, argument(call, 2).numel(), rule_of(call));
  return TN_OK;
}
tn_status value_workspace(tn_call*, uint64_t* bytes) {
  *bytes = 16;
  return TN_OK;
}

}  // namespace

TN_KERNEL(gather, gather, dtypes("all").any_strides().mixed_dtypes().capture_safe());
TN_KERNEL(scatter_src, scatter_src,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(scatter_workspace)
              .capture_safe());
TN_KERNEL(scatter_value, scatter_value,
          dtypes("all").any_strides().mixed_dtypes().inplace("0=0").capture_safe());
TN_KERNEL(scatter_add, scatter_add,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(scatter_add_workspace)
              .capture_safe());
TN_KERNEL(scatter_reduce_two, scatter_reduce,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(scatter_reduce_workspace)
              .capture_safe());
TN_KERNEL(prim_scatter, prim_scatter,
          dtypes("all")
              .any_strides()
              .mixed_dtypes()
              .inplace("0=0")
              .workspace(prim_scatter_workspace)
              .capture_safe());
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
TN_KERNEL(embedding, embedding, dtypes("floating").mixed_dtypes().capture_safe());

}  // namespace tenon::cuda
