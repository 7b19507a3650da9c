// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// amax, amin, max, min, argmax and argmin. NaN wins; the first of equal elements does.
#include "plugin_cuda/device/found.cuh"
#include "plugin_cuda/device/primitives.cuh"
#include "plugin_cuda/device/reduce.cuh"
#include "tenon/abi/primitives.h"
#include "tenon/sdk/ops/amax.h"
#include "tenon/sdk/ops/amin.h"
#include "tenon/sdk/ops/argmax.h"
#include "tenon/sdk/ops/argmin.h"
#include "tenon/sdk/ops/max.h"
#include "tenon/sdk/ops/min.h"

namespace tenon::cuda {
namespace {

using namespace sdk;

// Which results are stored: the value, the index, or both.
enum class What { Value, Index, Both };

template <class C>
struct Extremum {
  using Acc = Found<C>;
  bool max;
  What what;
  TN_DEVICE Acc identity(C) const { return {C(0), -1}; }
  TN_DEVICE bool beats(C a, C b) const {
    if (a != a) return b == b;
    return max ? a > b : a < b;
  }
  TN_DEVICE Acc reduce(const Acc& a, C v, int64_t i, C) const { return combine(a, Acc{v, i}); }
  TN_DEVICE Acc combine(const Acc& a, const Acc& b) const {
    if (a.index < 0) return b;
    if (b.index < 0 || beats(a.value, b.value)) return a;
    if (beats(b.value, a.value)) return b;
    return a.index < b.index ? a : b;
  }
  TN_DEVICE void store(const Acc& a, C, int64_t, const Place& p) const {
    if (what != What::Index) cuda::store(p.at[0], p.code[0], a.value);
    if (what == What::Index) cuda::store(p.at[0], p.code[0], a.index);
    if (what == What::Both) cuda::store(p.at[1], p.code[1], a.index);
  }
};

tn_status find_extremum(const Call& call, const Tensor* results, const Tensor& self, uint64_t mask,
                        bool max, What what) {
  int64_t count = 1;
  for (int d = 0; d < self.ndim(); ++d) {
    if (mask >> d & 1) count *= self.size(d);
  }
  if (count == 0 && results[0].numel() != 0) {
    throw Error(TN_ERROR_INDEX, "cannot reduce over a dimension of size 0");
  }
  tn_status status = TN_OK;
  with_compute(self.dtype(), [&](auto tag) {
    using C = tn_type(tag);
    status =
        reduce<C>(call, results, what == What::Both ? 2 : 1, self, mask, Extremum<C>{max, what});
  });
  return status;
}

template <bool kMax>
tn_status reduce_dims(Call& call, Tensor out, Tensor self, Ints dim, bool) {
  return find_extremum(call, &out, self, dim_mask(dim, self.ndim()), kMax, What::Value);
}
template <bool kMax>
tn_status reduce_all(Call& call, Tensor out, Tensor self) {
  return find_extremum(call, &out, self, dim_mask(std::nullopt, self.ndim()), kMax, What::Value);
}
template <bool kMax>
tn_status reduce_dim(Call& call, Tensor values, Tensor indices, Tensor self, int64_t dim, bool) {
  const Tensor results[2] = {values, indices};
  return find_extremum(call, results, self, dim_mask(Ints(&dim, 1), self.ndim()), kMax, What::Both);
}
template <bool kMax>
tn_status reduce_index(Call& call, Tensor out, Tensor self, std::optional<int64_t> dim, bool) {
  const std::optional<Ints> dims = dim ? std::optional<Ints>(Ints(&*dim, 1)) : std::nullopt;
  return find_extremum(call, &out, self, dim_mask(dims, self.ndim()), kMax, What::Index);
}

}  // namespace

tn_status reduce_extremum(const Call& call, const Tensor& out, const Tensor& self, int64_t dim,
                          int64_t code) {
  const bool where = code == TN_REDUCE_ARGMAX || code == TN_REDUCE_ARGMIN;
  return find_extremum(call, &out, self, dim_mask(Ints(&dim, 1), self.ndim()),
                       code == TN_REDUCE_MAX || code == TN_REDUCE_ARGMAX,
                       where ? What::Index : What::Value);
}

// Indices count in row-major order; a row of several dimensions has that only in row-major memory.
TN_KERNEL(argmax, reduce_index<true>,
          dtypes("number").workspace(reduction_workspace).capture_safe());
TN_KERNEL(argmin, reduce_index<false>,
          dtypes("number").workspace(reduction_workspace).capture_safe());
TN_KERNEL(max_dim, reduce_dim<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(min_dim, reduce_dim<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(max, reduce_all<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(min, reduce_all<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(amax, reduce_dims<true>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());
TN_KERNEL(amin, reduce_dims<false>,
          dtypes("all").any_strides().workspace(reduction_workspace).capture_safe());

}  // namespace tenon::cuda
