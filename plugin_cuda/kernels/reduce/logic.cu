// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// any and all: an element is true if it is not zero; NaN is true.
#include "plugin_cuda/device/primitives.cuh"
#include "plugin_cuda/device/reduce.cuh"
#include "tenon/sdk/ops/all.h"
#include "tenon/sdk/ops/any.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// all(x) = !any(!x)
template <class C>
struct AnyOf {
  using Acc = int32_t;
  bool opposite;
  TN_DEVICE int32_t identity(C) const { return 0; }
  TN_DEVICE int32_t reduce(int32_t a, C v, int64_t, C) const {
    return a | ((v != C(0)) != opposite);
  }
  TN_DEVICE int32_t combine(int32_t a, int32_t b) const { return a | b; }
  TN_DEVICE void store(int32_t a, C, int64_t, const Place& p) const {
    write<uint8_t>(p.at[0], (a != 0) != opposite);
  }
};

template <bool kAny>
tn_status reduce_all(Call& call, Tensor out, Tensor self) {
  return reduce_computed<AnyOf>(call, out, self, dim_mask(std::nullopt, self.ndim()), !kAny);
}
template <bool kAny>
tn_status reduce_dim(Call& call, Tensor out, Tensor self, int64_t dim, bool) {
  return reduce_computed<AnyOf>(call, out, self, dim_mask(Ints(&dim, 1), self.ndim()), !kAny);
}
template <bool kAny>
tn_status reduce_dims(Call& call, Tensor out, Tensor self, std::optional<Ints> dim, bool) {
  // An empty list reduces no dimension: each element is tested.
  return reduce_computed<AnyOf>(call, out, self,
                                dim && dim->empty() ? 0 : dim_mask(dim, self.ndim()), !kAny);
}

}  // namespace

tn_status reduce_logic(const Call& call, const Tensor& out, const Tensor& self, int64_t dim,
                       bool all) {
  return reduce_computed<AnyOf>(call, out, self, dim_mask(Ints(&dim, 1), self.ndim()), all);
}

TN_KERNEL(any, reduce_all<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(any_dim, reduce_dim<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(any_dims, reduce_dims<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(all, reduce_all<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(all_dim, reduce_dim<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(all_dims, reduce_dims<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
