// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Vector norms.
#include "plugin_cpu/reduce/magnitude.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce/norm.cpp"
#include "isa/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

enum class Norm { Zero, One, Two, Any };

template <class T, Norm kNorm>
struct NormOp {
  using In = T;
  using Acc = sdk::accumulate_t<T>;
  using Out = T;
  Acc p;
  Acc identity() const { return Acc(0); }
  HWY_INLINE Acc load(T v, int64_t) const {
    const Acc x = static_cast<Acc>(v);
    if constexpr (kNorm == Norm::Zero)
      return Acc(x != Acc(0));
    else if constexpr (kNorm == Norm::One)
      return std::fabs(x);
    else if constexpr (kNorm == Norm::Two)
      return x * x;
    else
      return std::pow(std::fabs(x), p);
  }
  static HWY_INLINE Acc combine(Acc a, Acc b) { return a + b; }
  Out finish(Acc a) const {
    if constexpr (kNorm == Norm::Two)
      return static_cast<T>(std::sqrt(a));
    else if constexpr (kNorm == Norm::Any)
      return static_cast<T>(std::pow(a, Acc(1) / p));
    else
      return static_cast<T>(a);
  }
};

}  // namespace

void VectorNorm(const Plan& plan, sdk::DType dtype, double p) {
  sdk::dispatch_floating(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    using Acc = sdk::accumulate_t<T>;
    if (p == 0) return Reduce(NormOp<T, Norm::Zero>{}, plan);
    if (p == 1) return Reduce(NormOp<T, Norm::One>{}, plan);
    if (p == 2) return Reduce(NormOp<T, Norm::Two>{}, plan);
    Reduce(NormOp<T, Norm::Any>{static_cast<Acc>(p)}, plan);
  });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/norm.h"

namespace tenon::cpu::reduce {
namespace {

TENON_EXPORT(VectorNorm);

using namespace sdk;

tn_status norm(Call&, Tensor out, Tensor self, std::optional<Scalar> p, Ints dim, bool keepdim) {
  const Plan plan(out, self, dim, keepdim);
  const double power = p ? p->to<double>() : 2.0;
  if (std::isinf(power))
    magnitude(plan, self.dtype(), power > 0);
  else
    TENON_DISPATCH(VectorNorm)(plan, self.dtype(), power);
  return TN_OK;
}

}  // namespace

TN_KERNEL(norm_ScalarOpt_dim, norm, dtypes("floating").any_strides());

}  // namespace tenon::cpu::reduce
#endif
