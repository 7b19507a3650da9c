// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The larger of two vectors, of which NaN is the largest. Included once per target.
#if defined(TENON_CPU_SIMD_LARGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_SIMD_LARGER_INL_H_
#undef TENON_CPU_SIMD_LARGER_INL_H_
#else
#define TENON_CPU_SIMD_LARGER_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where v is larger than `best`, or NaN.
template <class V, class D>
HWY_INLINE hn::Mask<D> is_larger(D, V v, V best) {
  auto larger = hn::Gt(v, best);
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) larger = hn::Or(larger, hn::IsNaN(v));
  return larger;
}
template <class V, class D>
HWY_INLINE V larger(D d, V v, V best) {
  return hn::IfThenElse(is_larger(d, v, best), v, best);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
