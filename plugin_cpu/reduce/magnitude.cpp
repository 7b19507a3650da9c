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
  using Acc = T;
  using Out = T;
  using Combiner = MagnitudeOp;
  T identity() const { return kMax ? T(0) : std::numeric_limits<T>::infinity(); }
  HWY_INLINE T load(T v, int64_t) const { return std::fabs(v); }
  static HWY_INLINE T combine(T a, T b) {
    const T m = kMax ? (a > b ? a : b) : (a < b ? a : b);
    return a != a ? a : m;
  }
  T finish(T a) const { return a; }
};

}  // namespace

void Magnitude(const Plan& plan, sdk::DType dtype, bool greatest) {
  DispatchWide(dtype, [&](auto tag) HWY_ATTR {
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
