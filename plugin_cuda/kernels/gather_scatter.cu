// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// gather and the scatters.
#include "plugin_cuda/device/combine.cuh"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/gather.h"
#include "tenon/sdk/ops/prim_scatter.h"
#include "tenon/sdk/ops/scatter.h"
#include "tenon/sdk/ops/scatter_add.h"
#include "tenon/sdk/ops/scatter_reduce.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

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

int64_t scattered(const tn_call* call) {
  const Tensor self(call->in[0].u.tensor), index(call->in[2].u.tensor);
  return combinations(index, wrap_dim(call->in[1].u.i64, self.ndim()));
}
tn_status scatter_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = Call(call).deterministic() ? combine_workspace_bytes(scattered(call)) : 0;
  return TN_OK;
}
tn_status scatter_add_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = combine_workspace_bytes(call, scattered(call), {CombineOp::Add});
  return TN_OK;
}
tn_status scatter_reduce_workspace(tn_call* call, uint64_t* bytes) {
  *bytes = combine_workspace_bytes(call, scattered(call), combine_rule_of(call));
  return TN_OK;
}
tn_status prim_scatter_workspace(tn_call* call, uint64_t* bytes) {
  const int64_t code = call->in[4].u.i64;
  if (code == TN_SCATTER_SET) return scatter_workspace(call, bytes);
  *bytes = code > TN_SCATTER_MUL
               ? 0
               : combine_workspace_bytes(call, scattered(call), {kScatterOps[code]});
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

}  // namespace tenon::cuda
