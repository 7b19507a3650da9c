// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The first n lanes of a vector. Where the processor has no masked access, Highway's reads whole
// vectors and writes them back, and with them what another thread may be writing. Included once per
// target.
#if defined(TENON_CPU_SIMD_PARTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_SIMD_PARTIAL_INL_H_
#undef TENON_CPU_SIMD_PARTIAL_INL_H_
#else
#define TENON_CPU_SIMD_PARTIAL_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Elements [0, n), then zeros; n is at most a vector.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, int64_t n, const T* p) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  HWY_ALIGN T some[HWY_MAX_BYTES / sizeof(T)] = {};
  std::copy_n(p, n, some);
  return hn::Load(d, some);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, int64_t n, T* p) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
#else
  HWY_ALIGN T some[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, some);
  std::copy_n(some, n, p);
#endif
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
