// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prod. 16-bit floats accumulate in float32, integers in int64.
#include "plugin_cuda/device/primitives.cuh"
#include "plugin_cuda/device/reduce.cuh"
#include "tenon/sdk/ops/prod.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class C>
struct Product {
  using Acc = C;
  TN_DEVICE C identity(C) const { return C(1); }
  TN_DEVICE C reduce(C a, C v, int64_t, C) const { return a * v; }
  TN_DEVICE C combine(C a, C b) const { return a * b; }
  TN_DEVICE void store(C a, C, int64_t, const Place& p) const {
    cuda::store(p.at[0], p.code[0], a);
  }
};

tn_status prod(Call& call, Tensor out, Tensor self, std::optional<DType>) {
  return reduce_computed<Product>(call, out, self, dim_mask(std::nullopt, self.ndim()));
}
tn_status prod_dim(Call& call, Tensor out, Tensor self, int64_t dim, bool, std::optional<DType>) {
  return reduce_computed<Product>(call, out, self, dim_mask(Ints(&dim, 1), self.ndim()));
}

}  // namespace

tn_status reduce_prod(const Call& call, const Tensor& out, const Tensor& self, int64_t dim) {
  return reduce_computed<Product>(call, out, self, dim_mask(Ints(&dim, 1), self.ndim()));
}

TN_KERNEL(prod, prod, dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(prod_dim_int, prod_dim,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
