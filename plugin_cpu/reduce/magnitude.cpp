// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/reduce/magnitude.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/reduce/magnitude.cpp"
#include "isa/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

template <class T, bool kMax>
struct MagnitudeOp {
  using In = T;
  using Acc = sdk::accumulate_t<T>;
  using Out = T;
  Acc identity() const { return kMax ? Acc(0) : std::numeric_limits<Acc>::infinity(); }
  HWY_INLINE Acc load(T v, int64_t) const { return std::fabs(static_cast<Acc>(v)); }
  static HWY_INLINE Acc combine(Acc a, Acc b) {
    const Acc m = kMax ? (a > b ? a : b) : (a < b ? a : b);
    return a != a ? a : m;
  }
  Out finish(Acc a) const { return static_cast<T>(a); }
};

}  // namespace

void Magnitude(const Plan& plan, sdk::DType dtype, bool greatest) {
  sdk::dispatch_floating(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    if (greatest)
      Reduce(MagnitudeOp<T, true>{}, plan);
    else
      Reduce(MagnitudeOp<T, false>{}, plan);
  });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu::reduce {

TENON_EXPORT(Magnitude);

void magnitude(const Plan& plan, sdk::DType dtype, bool greatest) {
  TENON_DISPATCH(Magnitude)(plan, dtype, greatest);
}

}  // namespace tenon::cpu::reduce
#endif
