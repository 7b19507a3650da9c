// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// prod. Integers accumulate in int64, 16-bit floats in float32.
#include "plugin_cpu/reduce/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce/prod.cpp"
#include "isa/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

template <class A>
struct Multiplier {
  using Acc = A;
  using Combiner = Multiplier;
  static Acc identity() { return Acc(1); }
  static HWY_INLINE Acc combine(Acc a, Acc b) { return a * b; }
};

template <class T>
struct ProdOp : Multiplier<sdk::accumulate_t<T>> {
  using In = T;
  using Acc = sdk::accumulate_t<T>;
  using Out = Acc;
  HWY_INLINE Acc load(T v, int64_t) const { return static_cast<Acc>(v); }
  Acc finish(Acc a) const { return a; }
};

}  // namespace

void Prod(const Plan& plan, sdk::DType in, sdk::DType out) {
  ReduceTo(plan, in, out,
           [&](auto tag, const Plan& own) HWY_ATTR { Reduce(ProdOp<tn_type(tag)>{}, own); });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/prod.h"

namespace tenon::cpu::reduce {
namespace {

TENON_EXPORT(Prod);

using namespace sdk;

tn_status prod(Call&, Tensor out, Tensor self, std::optional<DType>) {
  TENON_DISPATCH(Prod)(Plan(out, self, std::nullopt, false), self.dtype(), out.dtype());
  return TN_OK;
}

tn_status prod_dim(Call&, Tensor out, Tensor self, int64_t dim, bool keepdim,
                   std::optional<DType>) {
  TENON_DISPATCH(Prod)(Plan(out, self, Ints(&dim, 1), keepdim), self.dtype(), out.dtype());
  return TN_OK;
}

}  // namespace

TN_KERNEL(prod, prod, dtypes("all").any_strides());
TN_KERNEL(prod_dim_int, prod_dim, dtypes("all").any_strides());

}  // namespace tenon::cpu::reduce
#endif
