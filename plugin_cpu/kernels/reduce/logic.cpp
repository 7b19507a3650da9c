// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// any and all: an element is true if it is not zero; NaN is true.
#include "plugin_cpu/reduce/plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/reduce/logic.cpp"
#include "isa/targets.h"

#include "plugin_cpu/reduce/engine-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::reduce::HWY_NAMESPACE {
namespace {

// Over elements as integers of their size.
template <class U>
struct Joiner {
  using Acc = U;
  using Combiner = Joiner;
  static Acc identity() { return 0; }
  static HWY_INLINE Acc combine(Acc a, Acc b) { return a | b; }
};

// any keeps the bits that it saw, all whether it saw a zero.
template <class U, bool kAny>
struct LogicOp : Joiner<U> {
  using In = U;
  using Acc = U;
  using Out = uint8_t;
  U mask;
  explicit LogicOp(uint64_t bits) : mask(static_cast<U>(bits)) {}
  HWY_INLINE Acc load(U v, int64_t) const {
    return kAny ? v : static_cast<U>(-static_cast<U>((v & mask) == 0));
  }
  Out finish(Acc a) const { return kAny ? (a & mask) != 0 : a == 0; }
};

}  // namespace

// mask: the bits of which one is set unless an element is zero.
void Logic(const Plan& plan, sdk::DType dtype, uint64_t mask, bool any) {
  sdk::dispatch_size(dtype, [&](auto tag) HWY_ATTR {
    using U = tn_type(tag);
    if (any)
      Reduce(LogicOp<U, true>(mask), plan);
    else
      Reduce(LogicOp<U, false>(mask), plan);
  });
}

}  // namespace tenon::cpu::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/all.h"
#include "tenon/sdk/ops/any.h"

namespace tenon::cpu::reduce {
namespace {

TENON_EXPORT(Logic);

using namespace sdk;

// A float has two zeros.
uint64_t value_bits(DType d) { return ~uint64_t{0} >> (64 - d.bits) >> is_floating(d); }

tn_status reduce(const Plan& plan, DType d, bool any) {
  TENON_DISPATCH(Logic)(plan, d, value_bits(d), any);
  return TN_OK;
}

template <bool kAny>
tn_status whole(Call&, Tensor out, Tensor self) {
  return reduce(Plan(out, self, std::nullopt, false), self.dtype(), kAny);
}
template <bool kAny>
tn_status along(Call&, Tensor out, Tensor self, int64_t dim, bool keepdim) {
  return reduce(Plan(out, self, Ints(&dim, 1), keepdim), self.dtype(), kAny);
}
tn_status each(const Tensor& out, const Tensor& self) {
  StridedLoop loop(self.sizes());
  loop.add(out);
  loop.add(self);
  loop.finish();
  dispatch_size(self.dtype(), [&](auto tag) {
    using U = tn_type(tag);
    const U mask = static_cast<U>(value_bits(self.dtype()));
    loop.run(0, loop.numel, [&](char* const* p, const int64_t* strides, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        p[0][i * strides[0]] = (*reinterpret_cast<const U*>(p[1] + i * strides[1]) & mask) != 0;
      }
    });
  });
  return TN_OK;
}
template <bool kAny>
tn_status reduce_dims(Call&, Tensor out, Tensor self, std::optional<Ints> dim, bool keepdim) {
  // An empty list reduces nothing: what is left are tests of the elements.
  if (dim && dim->empty()) return each(out, self);
  return reduce(Plan(out, self, dim, keepdim), self.dtype(), kAny);
}

}  // namespace

TN_KERNEL(any, whole<true>, dtypes("all").any_strides());
TN_KERNEL(any_dim, along<true>, dtypes("all").any_strides());
TN_KERNEL(any_dims, reduce_dims<true>, dtypes("all").any_strides());
TN_KERNEL(all, whole<false>, dtypes("all").any_strides());
TN_KERNEL(all_dim, along<false>, dtypes("all").any_strides());
TN_KERNEL(all_dims, reduce_dims<false>, dtypes("all").any_strides());

}  // namespace tenon::cpu::reduce
#endif
