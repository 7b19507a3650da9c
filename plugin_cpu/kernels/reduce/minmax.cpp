// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// amax, amin, max and min of all elements: NaN propagates. bool is reduced as uint8.
#include "plugin_cpu/reduce/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce/minmax.cpp"
#include "isa/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

template <class T, bool kMax>
struct ExtremumOp {
  using In = T;
  using Acc = T;
  using Out = T;
  using Limits = std::numeric_limits<Acc>;
  Acc identity() const {
    if constexpr (Limits::has_infinity)
      return kMax ? -Limits::infinity() : Limits::infinity();
    else
      return kMax ? Limits::lowest() : Limits::max();
  }
  HWY_INLINE Acc load(T v, int64_t) const { return v; }
  static HWY_INLINE Acc combine(Acc a, Acc b) {
    if constexpr (std::is_floating_point_v<Acc>) {
      const Acc m = kMax ? (a > b ? a : b) : (a < b ? a : b);
      return a != a ? a : m;
    } else {
      return kMax ? (a > b ? a : b) : (a < b ? a : b);
    }
  }
  T finish(Acc a) const { return a; }
};

// 16-bit floats as integers in their order: where the sign is set, the other bits are flipped. NaN
// is moved to the end of the order that the reduction returns.
template <bool kMax>
struct HalfExtremumOp : ExtremumOp<int16_t, kMax> {
  using Limits = std::numeric_limits<int16_t>;
  int16_t infinity;  // its bits
  static HWY_INLINE int16_t flip(int16_t v) { return static_cast<int16_t>(v ^ (v >> 15 & 0x7fff)); }
  HWY_INLINE int16_t load(int16_t v, int64_t) const {
    return (v & 0x7fff) > infinity ? (kMax ? Limits::max() : Limits::lowest()) : flip(v);
  }
  int16_t finish(int16_t a) const { return flip(a); }
};

}  // namespace

void Extremum(const Plan& plan, sdk::DType dtype, bool max) {
  const auto reduce = [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    if (max)
      Reduce(ExtremumOp<T, true>(), plan);
    else
      Reduce(ExtremumOp<T, false>(), plan);
  };
  if (!sdk::is_floating(dtype))
    return sdk::dispatch_integral(sdk::is_bool(dtype) ? sdk::kUInt8 : dtype, reduce);
  if (dtype.bits == 32) return reduce(sdk::Type<float>());
  if (dtype.bits == 64) return reduce(sdk::Type<double>());
  const int16_t infinity = dtype.code == TN_FLOAT ? 0x7c00 : 0x7f80;
  if (max)
    Reduce(HalfExtremumOp<true>{{}, infinity}, plan);
  else
    Reduce(HalfExtremumOp<false>{{}, infinity}, plan);
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

TENON_EXPORT(Extremum);

using namespace sdk;

tn_status amax(Call&, Tensor out, Tensor self, Ints dim, bool keepdim) {
  TENON_DISPATCH(Extremum)(Plan(out, self, dim, keepdim), self.dtype(), true);
  return TN_OK;
}
tn_status amin(Call&, Tensor out, Tensor self, Ints dim, bool keepdim) {
  TENON_DISPATCH(Extremum)(Plan(out, self, dim, keepdim), self.dtype(), false);
  return TN_OK;
}
tn_status max(Call&, Tensor out, Tensor self) {
  TENON_DISPATCH(Extremum)(Plan(out, self, std::nullopt, false), self.dtype(), true);
  return TN_OK;
}
tn_status min(Call&, Tensor out, Tensor self) {
  TENON_DISPATCH(Extremum)(Plan(out, self, std::nullopt, false), self.dtype(), false);
  return TN_OK;
}

}  // namespace

TN_KERNEL(amax, amax, dtypes("all").any_strides());
TN_KERNEL(amin, amin, dtypes("all").any_strides());
TN_KERNEL(max, max, dtypes("all").any_strides());
TN_KERNEL(min, min, dtypes("all").any_strides());

}  // namespace tenon::cpu::reduce
#endif
