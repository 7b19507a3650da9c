// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// sum and mean. 16-bit floats accumulate in float32, integers in int64.
#include "plugin_cuda/device/primitives.cuh"
#include "plugin_cuda/device/reduce.cuh"
#include "tenon/sdk/ops/mean.h"
#include "tenon/sdk/ops/sum.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

template <class C>
struct Sum {
  using Acc = C;
  bool mean;
  TN_DEVICE C identity(C) const { return C(0); }
  TN_DEVICE C reduce(C a, C v, int64_t, C) const { return a + v; }
  TN_DEVICE C combine(C a, C b) const { return a + b; }
  TN_DEVICE void store(C a, C, int64_t n, const Place& p) const {
    cuda::store(p.at[0], p.code[0], mean ? a / static_cast<C>(n) : a);
  }
};

tn_status sum(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool,
              std::optional<DType>) {
  return reduce_computed<Sum>(call, out, self, dim_mask(dim, self.ndim()), false);
}
tn_status mean(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool,
               std::optional<DType>) {
  return reduce_computed<Sum>(call, out, self, dim_mask(dim, self.ndim()), true);
}

}  // namespace

static_assert(kSumBytes == reduction::kMaxBytes);
tn_status sum_dims(const Call& call, const Tensor& out, const Tensor& self, uint64_t mask) {
  return reduce_computed<Sum>(call, out, self, mask, false);
}

tn_status reduce_sum(const Call& call, const Tensor& out, const Tensor& self, int64_t dim) {
  return reduce_computed<Sum>(call, out, self, dim_mask(Ints(&dim, 1), self.ndim()), false);
}

TN_KERNEL(sum_dim_IntList, sum,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(mean_dim, mean,
          dtypes("floating").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
