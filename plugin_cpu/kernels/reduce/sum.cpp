// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// sum and mean. Integers accumulate in int64, 16-bit floats in float32.
#include "plugin_cpu/reduce/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce/sum.cpp"
#include "isa/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

template <class T>
struct SumOp : Adder<sdk::accumulate_t<T>> {
  using In = T;
  using Acc = sdk::accumulate_t<T>;
  using Out = Acc;
  double divisor;
  explicit SumOp(double d) : divisor(d) {}
  HWY_INLINE Acc load(T v, int64_t) const { return static_cast<Acc>(v); }
  Acc finish(Acc a) const {
    if constexpr (std::is_floating_point_v<Acc>)
      return a / static_cast<Acc>(divisor);
    else
      return a;
  }
};

}  // namespace

void Sum(const Plan& plan, sdk::DType in, sdk::DType out, double divisor) {
  ReduceTo(plan, in, out,
           [&](auto tag, const Plan& own) HWY_ATTR { Reduce(SumOp<tn_type(tag)>(divisor), own); });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/mean.h"
#include "tenon/sdk/ops/sum.h"

namespace tenon::cpu::reduce {
namespace {

TENON_EXPORT(Sum);

using namespace sdk;

tn_status sum(Call&, Tensor out, Tensor self, std::optional<Ints> dim, bool keepdim,
              std::optional<DType>) {
  TENON_DISPATCH(Sum)(Plan(out, self, dim, keepdim), self.dtype(), out.dtype(), 1.0);
  return TN_OK;
}

tn_status mean(Call&, Tensor out, Tensor self, std::optional<Ints> dim, bool keepdim,
               std::optional<DType>) {
  const Plan plan(out, self, dim, keepdim);
  TENON_DISPATCH(Sum)(plan, self.dtype(), out.dtype(), static_cast<double>(plan.reduced.count));
  return TN_OK;
}

}  // namespace

TN_KERNEL(sum_dim_IntList, sum, dtypes("all").any_strides());
TN_KERNEL(mean_dim, mean, dtypes("floating").any_strides());

}  // namespace tenon::cpu::reduce
#endif
