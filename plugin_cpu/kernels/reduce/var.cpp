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
struct MeanOp : Adder<A> {
  using In = T;
  using Out = A;
  A count;
  explicit MeanOp(A n) : count(n) {}
  HWY_INLINE A load(T v, int64_t) const { return static_cast<A>(v); }
  A finish(A a) const { return a / count; }
};

template <class T, class A>
struct SquaresOp : Adder<A> {
  using In = T;
  using Out = T;
  const A* mean;
  A divisor;
  std::atomic<bool>* not_finite;
  SquaresOp(const A* m, A d, std::atomic<bool>* flag) : mean(m), divisor(d), not_finite(flag) {}
  HWY_INLINE A load(T v, int64_t output) const {
    const A d = static_cast<A>(v) - mean[output];
    return d * d;
  }
  T finish(A a) const {
    if (!std::isfinite(a)) not_finite->store(true, std::memory_order_relaxed);
    return static_cast<T>(a / divisor);
  }
};

// A result as it is.
template <class T>
struct Stored {
  using Acc = T;
  using Out = T;
  T finish(T v) const { return v; }
};

// Means go to a buffer in the order of the kept elements, then to where they belong. False if a sum
// is not finite, which elements of half the exponent's range suffice for.
template <class T, class Acc>
bool var_mean_in(const Plan& plan, const Plan& mean_plan, double correction) {
  std::vector<Acc> mean(static_cast<std::size_t>(plan.kept.count));
  std::atomic<bool> not_finite{false};
  const double n = static_cast<double>(plan.reduced.count), divisor = n - correction;
  Reduce(MeanOp<T, Acc>(static_cast<Acc>(n)), into_buffer(plan, mean.data(), sizeof(Acc)));
  Reduce(SquaresOp<T, Acc>(mean.data(), static_cast<Acc>(divisor > 0 ? divisor : 0), &not_finite),
         plan);
  for (int64_t o = 0; mean_plan.out && o < plan.kept.count; ++o) {
    int64_t in, out;
    mean_plan.kept.locate(o, &in, &out);
    Write(Stored<T>(), mean_plan, mean_plan.out + out,
          static_cast<T>(mean[static_cast<std::size_t>(o)]));
  }
  return !not_finite;
}

}  // namespace

// Sums that are not finite are repeated in double.
void VarMean(const Plan& plan, const Plan& mean_plan, sdk::DType dtype, double correction) {
  DispatchWide(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    if (!var_mean_in<T, T>(plan, mean_plan, correction)) {
      if constexpr (!std::is_same_v<T, double>) var_mean_in<T, double>(plan, mean_plan, correction);
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
