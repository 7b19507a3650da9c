// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// any and all: an element holds if it is not zero; NaN holds.
#include "plugin_cpu/reduce/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce_logic.cpp"
#include "plugin_cpu/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

template <class T, bool kAny>
struct LogicOp {
  using In = T;
  using Acc = uint8_t;
  using Out = uint8_t;
  Acc identity() const { return kAny ? 0 : 1; }
  HWY_INLINE Acc load(T v, int64_t) const { return static_cast<sdk::compute_t<T>>(v) != 0; }
  static HWY_INLINE Acc combine(Acc a, Acc b) { return kAny ? a | b : a & b; }
  Out finish(Acc a) const { return a; }
};

}  // namespace

void Logic(const Plan& plan, sdk::DType dtype, bool any) {
  sdk::dispatch_all(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    if (any)
      Reduce(LogicOp<T, true>(), plan);
    else
      Reduce(LogicOp<T, false>(), plan);
  });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/all.h"
#include "tenon/sdk/ops/any.h"

namespace tenon::cpu::reduce {
namespace {

HWY_EXPORT(Logic);

using namespace sdk;

template <bool kAny>
tn_status whole(Call&, Tensor out, Tensor self) {
  HWY_DYNAMIC_DISPATCH(Logic)(Plan(out, self, std::nullopt, false), self.dtype(), kAny);
  return TN_OK;
}
template <bool kAny>
tn_status along(Call&, Tensor out, Tensor self, int64_t dim, bool keepdim) {
  HWY_DYNAMIC_DISPATCH(Logic)(Plan(out, self, Ints(&dim, 1), keepdim), self.dtype(), kAny);
  return TN_OK;
}
tn_status each(const Tensor& out, const Tensor& self) {
  StridedLoop loop(self.sizes());
  loop.add(out);
  loop.add(self);
  loop.finish();
  dispatch_all(self.dtype(), [&](auto tag) {
    using T = tn_type(tag);
    loop.run(0, loop.numel, [&](char* const* p, const int64_t* strides, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        p[0][i * strides[0]] = static_cast<compute_t<T>>(*reinterpret_cast<const T*>(p[1] + i * strides[1])) != 0;
      }
    });
  });
  return TN_OK;
}
template <bool kAny>
tn_status several(Call&, Tensor out, Tensor self, std::optional<Ints> dim, bool keepdim) {
  // An empty list reduces nothing: what is left are tests of the elements.
  if (dim && dim->empty()) return each(out, self);
  HWY_DYNAMIC_DISPATCH(Logic)(Plan(out, self, dim, keepdim), self.dtype(), kAny);
  return TN_OK;
}

}  // namespace

TN_KERNEL(any, whole<true>, dtypes("all").any_strides());
TN_KERNEL(any_dim, along<true>, dtypes("all").any_strides());
TN_KERNEL(any_dims, several<true>, dtypes("all").any_strides());
TN_KERNEL(all, whole<false>, dtypes("all").any_strides());
TN_KERNEL(all_dim, along<false>, dtypes("all").any_strides());
TN_KERNEL(all_dims, several<false>, dtypes("all").any_strides());

}  // namespace tenon::cpu::reduce
#endif
