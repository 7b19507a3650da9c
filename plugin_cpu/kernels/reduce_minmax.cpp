// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// amax, amin, max and min of all elements: NaN wins.
#include "plugin_cpu/reduce/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce_minmax.cpp"
#include "plugin_cpu/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

template <class T, bool kMax>
struct ExtremumOp {
  using In = T;
  using Acc = sdk::compute_t<T>;
  using Out = T;
  using Limits = std::numeric_limits<Acc>;
  Acc identity() const {
    if constexpr (Limits::has_infinity)
      return kMax ? -Limits::infinity() : Limits::infinity();
    else
      return kMax ? Limits::lowest() : Limits::max();
  }
  HWY_INLINE Acc load(T v, int64_t) const { return static_cast<Acc>(v); }
  static HWY_INLINE Acc combine(Acc a, Acc b) {
    if constexpr (std::is_floating_point_v<Acc>) {
      const Acc m = kMax ? (a > b ? a : b) : (a < b ? a : b);
      return a != a ? a : m;
    } else {
      return kMax ? (a > b ? a : b) : (a < b ? a : b);
    }
  }
  T finish(Acc a) const { return static_cast<T>(a); }
};

}  // namespace

void Extremum(const Plan& plan, sdk::DType dtype, bool max) {
  sdk::dispatch_all(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    if (max)
      Reduce(ExtremumOp<T, true>(), plan);
    else
      Reduce(ExtremumOp<T, false>(), plan);
  });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/amax.h"
#include "tenon/sdk/ops/amin.h"
#include "tenon/sdk/ops/max.h"
#include "tenon/sdk/ops/min.h"

namespace tenon::cpu::reduce {
namespace {

HWY_EXPORT(Extremum);

using namespace sdk;

tn_status amax(Call&, Tensor out, Tensor self, Ints dim, bool keepdim) {
  HWY_DYNAMIC_DISPATCH(Extremum)(Plan(out, self, dim, keepdim), self.dtype(), true);
  return TN_OK;
}
tn_status amin(Call&, Tensor out, Tensor self, Ints dim, bool keepdim) {
  HWY_DYNAMIC_DISPATCH(Extremum)(Plan(out, self, dim, keepdim), self.dtype(), false);
  return TN_OK;
}
tn_status max(Call&, Tensor out, Tensor self) {
  HWY_DYNAMIC_DISPATCH(Extremum)(Plan(out, self, std::nullopt, false), self.dtype(), true);
  return TN_OK;
}
tn_status min(Call&, Tensor out, Tensor self) {
  HWY_DYNAMIC_DISPATCH(Extremum)(Plan(out, self, std::nullopt, false), self.dtype(), false);
  return TN_OK;
}

}  // namespace

TN_KERNEL(amax, amax, dtypes("all").any_strides());
TN_KERNEL(amin, amin, dtypes("all").any_strides());
TN_KERNEL(max, max, dtypes("all").any_strides());
TN_KERNEL(min, min, dtypes("all").any_strides());

}  // namespace tenon::cpu::reduce
#endif
