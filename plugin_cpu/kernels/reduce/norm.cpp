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
struct NormOp : Adder<T> {
  using In = T;
  using Out = T;
  T p;
  explicit NormOp(T power) : p(power) {}
  HWY_INLINE T load(T x, int64_t) const {
    if constexpr (kNorm == Norm::Zero)
      return T(x != T(0));
    else if constexpr (kNorm == Norm::One)
      return std::fabs(x);
    else if constexpr (kNorm == Norm::Two)
      return x * x;
    else
      return std::pow(std::fabs(x), p);
  }
  T finish(T a) const {
    if constexpr (kNorm == Norm::Two)
      return std::sqrt(a);
    else if constexpr (kNorm == Norm::Any)
      return std::pow(a, T(1) / p);
    else
      return a;
  }
};

}  // namespace

void VectorNorm(const Plan& plan, sdk::DType dtype, double p) {
  DispatchWide(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    const T power = static_cast<T>(p);
    if (p == 0) return Reduce(NormOp<T, Norm::Zero>(power), plan);
    if (p == 1) return Reduce(NormOp<T, Norm::One>(power), plan);
    if (p == 2) return Reduce(NormOp<T, Norm::Two>(power), plan);
    Reduce(NormOp<T, Norm::Any>(power), plan);
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
