// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Into strided tensors: to_dense, and sums with one strided operand. An in-place sum touches the
// sparse elements alone.
#include "plugin_sparse_cuda/device/places.cuh"
#include "tenon/sdk/ops/_to_dense.h"
#include "tenon/sdk/ops/add.h"
#include "tenon/sdk/ops/sub.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// to = scale * t, or to += scale * t. `to` is row-major.
void write_dense(const Call& call, const Tensor& to, const Tensor& t, bool accumulate,
                 const Scalar& scale) {
  const Tensor values = coo::values(t);
  const Places places(call, coo::indices(t), t.sizes());
  if (to.numel() == 0 || values.numel() == 0) return;
  const Sums sums{Dense(values), Dense(to), values.numel() / places.n, nullptr, accumulate};
  if (coo::coalesced(t))
    scatter_distinct(call, places, sums, scale);
  else
    sum_duplicates(call, sorted(sort_places(call, places, 0)), sums, scale);
}

uint64_t sort_bytes(const Tensor& t) { return coo::coalesced(t) ? 0 : sorting_bytes(coo::nnz(t)); }
bool sortable(const Tensor& t) { return coo::coalesced(t) || coo::nnz(t) <= kMaxSorted; }

tn_status to_dense(Call& call, Tensor out, Tensor self, std::optional<DType>, std::optional<bool>) {
  if (!out.contiguous()) return TN_DECLINED;
  coo::Ops op(call);
  op("zero_", {value(out)});
  write_dense(call, out, self, false, Scalar::of(int64_t{1}));
  return TN_OK;
}

tn_status dense_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor);
  *bytes = sort_bytes(self);
  return sortable(self) ? TN_OK : TN_DECLINED;
}

bool is_one(const Scalar& a) { return a.is_float() ? a.to<double>() == 1 : a.to<int64_t>() == 1; }

// self + alpha * other. The layout's own kernel concatenates the elements of two sparse operands.
tn_status sum(Call& call, const Tensor& out, const Tensor& self, const Tensor& other,
              const Scalar& alpha) {
  if (is_strided(self) == is_strided(other) || !out.contiguous()) return TN_DECLINED;
  coo::Ops op(call);
  if (is_strided(self)) {
    if (out.data<char>() != self.data<char>()) op.copy(out, self);
    write_dense(call, out, other, true, alpha);
    return TN_OK;
  }
  op.copy(out, is_one(alpha) ? other : op("mul.Scalar", {value(other), value(alpha)}));
  write_dense(call, out, self, true, Scalar::of(int64_t{1}));
  return TN_OK;
}

tn_status add(Call& call, Tensor out, Tensor self, Tensor other, Scalar alpha) {
  return sum(call, out, self, other, alpha);
}
tn_status sub(Call& call, Tensor out, Tensor self, Tensor other, Scalar alpha) {
  return sum(call, out, self, other,
             alpha.is_float() ? Scalar::of(-alpha.to<double>()) : Scalar::of(-alpha.to<int64_t>()));
}

tn_status sum_workspace(tn_call* call, uint64_t* bytes) {
  const Tensor self(call->in[0].u.tensor), other(call->in[1].u.tensor);
  if (is_strided(self) == is_strided(other)) return TN_DECLINED;
  const Tensor& sparse = is_strided(self) ? other : self;
  *bytes = sort_bytes(sparse);
  return sortable(sparse) ? TN_OK : TN_DECLINED;
}

}  // namespace

TN_KERNEL(_to_dense, to_dense,
          layouts("sparse_coo").mixed_dtypes().workspace(dense_workspace).capture_safe());
TN_KERNEL(add_Tensor, add,
          layouts("strided|sparse_coo,strided|sparse_coo")
              .inplace("0=0")
              .workspace(sum_workspace)
              .capture_safe());
TN_KERNEL(sub_Tensor, sub,
          layouts("strided|sparse_coo,strided|sparse_coo")
              .inplace("0=0")
              .workspace(sum_workspace)
              .capture_safe());

}  // namespace tenon::cuda
