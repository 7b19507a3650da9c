// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Variance and mean in two passes.
#include "plugin_cpu/reduce/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce/var.cpp"
#include "isa/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

#include <atomic>
#include <cmath>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

template <class T, class A>
struct MeanOp {
  using In = T;
  using Acc = A;
  using Out = Acc;
  Acc count;
  Acc identity() const { return Acc(0); }
  HWY_INLINE Acc load(T v, int64_t) const { return static_cast<Acc>(v); }
  static HWY_INLINE Acc combine(Acc a, Acc b) { return a + b; }
  Out finish(Acc a) const { return a / count; }
};

template <class T, class A>
struct SquaresOp {
  using In = T;
  using Acc = A;
  using Out = T;
  const Acc* mean;
  Acc divisor;
  std::atomic<bool>* not_finite;
  Acc identity() const { return Acc(0); }
  HWY_INLINE Acc load(T v, int64_t output) const {
    const Acc d = static_cast<Acc>(v) - mean[output];
    return d * d;
  }
  static HWY_INLINE Acc combine(Acc a, Acc b) { return a + b; }
  Out finish(Acc a) const {
    if (!std::isfinite(a)) not_finite->store(true, std::memory_order_relaxed);
    return static_cast<T>(a / divisor);
  }
};

// Means go to a buffer in the order of the kept elements, then to where they belong. False if a sum
// is not finite, which elements of half the exponent's range suffice for.
template <class T, class Acc>
bool var_mean_in(const Plan& plan, const Plan& mean_plan, double correction) {
  std::vector<Acc> mean(static_cast<std::size_t>(plan.kept.count));
  std::atomic<bool> not_finite{false};
  const double n = static_cast<double>(plan.reduced.count), divisor = n - correction;
  Reduce(MeanOp<T, Acc>{static_cast<Acc>(n)}, into_buffer(plan, mean.data(), sizeof(Acc)));
  Reduce(SquaresOp<T, Acc>{mean.data(), static_cast<Acc>(divisor > 0 ? divisor : 0), &not_finite},
         plan);
  for (int64_t o = 0; mean_plan.out && o < plan.kept.count; ++o) {
    int64_t in, out;
    mean_plan.kept.locate(o, &in, &out);
    *reinterpret_cast<T*>(mean_plan.out + out) = static_cast<T>(mean[static_cast<std::size_t>(o)]);
  }
  return !not_finite;
}

}  // namespace

// Sums that are not finite are repeated in double.
void VarMean(const Plan& plan, const Plan& mean_plan, sdk::DType dtype, double correction) {
  sdk::dispatch_floating(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    using Acc = sdk::accumulate_t<T>;
    if (!var_mean_in<T, Acc>(plan, mean_plan, correction)) {
      if constexpr (!std::is_same_v<Acc, double>)
        var_mean_in<T, double>(plan, mean_plan, correction);
    }
  });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/var.h"
#include "tenon/sdk/ops/var_mean.h"

namespace tenon::cpu::reduce {
namespace {

TENON_EXPORT(VarMean);

using namespace sdk;

double correction_of(const std::optional<Scalar>& c) { return c ? c->to<double>() : 1.0; }

tn_status var_mean(Call&, Tensor var, Tensor mean, Tensor self, std::optional<Ints> dim,
                   std::optional<Scalar> correction, bool keepdim) {
  TENON_DISPATCH(VarMean)
  (Plan(var, self, dim, keepdim), Plan(mean, self, dim, keepdim), self.dtype(),
   correction_of(correction));
  return TN_OK;
}

tn_status var(Call&, Tensor out, Tensor self, std::optional<Ints> dim,
              std::optional<Scalar> correction, bool keepdim) {
  const Plan plan(out, self, dim, keepdim);
  Plan none = plan;
  none.out = nullptr;
  TENON_DISPATCH(VarMean)(plan, none, self.dtype(), correction_of(correction));
  return TN_OK;
}

}  // namespace

TN_KERNEL(var_mean_correction, var_mean, dtypes("floating").any_strides());
TN_KERNEL(var_correction, var, dtypes("floating").any_strides());

}  // namespace tenon::cpu::reduce
#endif
