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
struct FloatOp {
  using In = T;
  using Acc = T;
  using Out = T;
  using Combiner = FloatOp;
  T identity() const {
    return kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  }
  HWY_INLINE T load(T v, int64_t) const { return v; }
  static HWY_INLINE T combine(T a, T b) {
    const T m = kMax ? (a > b ? a : b) : (a < b ? a : b);
    return a != a ? a : m;
  }
  T finish(T a) const { return a; }
};

template <class T>
struct Greatest {
  using Acc = T;
  using Combiner = Greatest;
  using Limits = std::numeric_limits<T>;
  static T identity() { return Limits::lowest(); }
  static HWY_INLINE T combine(T a, T b) { return a > b ? a : b; }
};

// The least is the greatest of the integers with all bits flipped.
template <class T>
struct IntegerOp : Greatest<T> {
  using In = T;
  using Out = T;
  T flipped;
  explicit IntegerOp(bool max) : flipped(static_cast<T>(max ? 0 : -1)) {}
  HWY_INLINE T load(T v, int64_t) const { return static_cast<T>(v ^ flipped); }
  T finish(T a) const { return static_cast<T>(a ^ flipped); }
};

// 16-bit floats as integers in their order: where the sign is set, the other bits are flipped. NaN
// is moved to the end of that order.
template <bool kMax>
struct HalfOp : Greatest<int16_t> {
  using In = int16_t;
  using Out = int16_t;
  int16_t infinity;  // its bits
  explicit HalfOp(int16_t bits) : infinity(bits) {}
  static HWY_INLINE int16_t flip(int16_t v) {
    const auto ordered = static_cast<int16_t>(v ^ (v >> 15 & 0x7fff));
    return kMax ? ordered : static_cast<int16_t>(~ordered);
  }
  HWY_INLINE int16_t load(int16_t v, int64_t) const {
    return (v & 0x7fff) > infinity ? Limits::max() : flip(v);
  }
  int16_t finish(int16_t a) const {
    const auto ordered = kMax ? a : static_cast<int16_t>(~a);
    return static_cast<int16_t>(ordered ^ (ordered >> 15 & 0x7fff));
  }
};

template <bool kMax>
void reduce_floats(const Plan& plan, sdk::DType dtype) {
  if (dtype.bits == 32) return Reduce(FloatOp<float, kMax>(), plan);
  if (dtype.bits == 64) return Reduce(FloatOp<double, kMax>(), plan);
  Reduce(HalfOp<kMax>(dtype.code == TN_FLOAT ? 0x7c00 : 0x7f80), plan);
}

}  // namespace

void Extremum(const Plan& plan, sdk::DType dtype, bool max) {
  if (sdk::is_floating(dtype))
    return max ? reduce_floats<true>(plan, dtype) : reduce_floats<false>(plan, dtype);
  sdk::dispatch_integral(sdk::is_bool(dtype) ? sdk::kUInt8 : dtype,
                         [&](auto tag) HWY_ATTR { Reduce(IntegerOp<tn_type(tag)>(max), plan); });
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
