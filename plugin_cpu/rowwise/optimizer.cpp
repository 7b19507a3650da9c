// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/rowwise/optimizer.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/optimizer.cpp"
#include "isa/targets.h"

#include "plugin_cpu/simd/vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// f(pointers) for each whole vector of the runs, then once over a copy of their ends.
template <class T, class F>
HWY_INLINE void EachVector(T* const (&runs)[5], int64_t n, F&& f) {
  const int64_t lanes = Vec<T>::lanes();
  T *at[5], *from[5];
  for (int k = 0; k < 5; ++k) from[k] = runs[k] ? runs[k] : runs[kParam];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int k = 0; k < 5; ++k) at[k] = from[k] + i;
    f(at);
  }
  if (i == n) return;
  HWY_ALIGN T buffer[5][HWY_MAX_BYTES / sizeof(T)] = {};
  for (int k = 0; k < 5; ++k) {
    if (runs[k]) std::copy(runs[k] + i, runs[k] + n, buffer[k]);
    at[k] = buffer[k];
  }
  f(at);
  for (int k = 0; k < 5; ++k) {
    if (runs[k] && k != kGrad) std::copy(buffer[k], buffer[k] + (n - i), runs[k] + i);
  }
}

template <class T>
HWY_INLINE void Adam(T* const (&runs)[5], int64_t n, const AdamNumbers& o) {
  using V = Vec<T>;
  const V beta1(o.beta1), beta2(o.beta2), rest1(1 - o.beta1), rest2(1 - o.beta2),
      decay(o.weight_decay), shrink(o.shrink), root(o.root), eps(o.eps), size(o.size);
  const bool maxima = runs[kThirdState] != nullptr;
  EachVector(runs, n, [&](T* const* at) HWY_ATTR {
    V p = V::load(at[kParam]), g = V::load(at[kGrad]);
    if (o.maximize) g = -g;
    if (o.shrink != 1) p = p * shrink;
    if (o.weight_decay != 0) g = fma(decay, p, g);
    const V m = fma(rest1, g, V::load(at[kState]) * beta1);
    V v = fma(rest2 * g, g, V::load(at[kSecondState]) * beta2);
    m.store(at[kState]);
    v.store(at[kSecondState]);
    if (maxima) {
      v = maximum(V::load(at[kThirdState]), v);
      v.store(at[kThirdState]);
    }
    (p + size * m / (sqrt(v) / root + eps)).store(at[kParam]);  // in the order of addcdiv
  });
}

template <class T>
HWY_INLINE void Sgd(T* const (&runs)[5], int64_t n, const SgdNumbers& o) {
  using V = Vec<T>;
  const V momentum(o.momentum), rest(1 - o.dampening), decay(o.weight_decay), size(-o.lr);
  const bool buffered = runs[kState] != nullptr;
  EachVector(runs, n, [&](T* const* at) HWY_ATTR {
    const V p = V::load(at[kParam]);
    V g = V::load(at[kGrad]);
    if (o.maximize) g = -g;
    if (o.weight_decay != 0) g = fma(decay, p, g);
    if (buffered) {
      const V b = o.first ? g : fma(rest, g, V::load(at[kState]) * momentum);
      b.store(at[kState]);
      g = o.nesterov ? fma(momentum, b, g) : b;
    }
    fma(size, g, p).store(at[kParam]);
  });
}

void AdamFloat(float* const (&runs)[5], int64_t n, const AdamNumbers& o) { Adam(runs, n, o); }
void AdamDouble(double* const (&runs)[5], int64_t n, const AdamNumbers& o) { Adam(runs, n, o); }
void SgdFloat(float* const (&runs)[5], int64_t n, const SgdNumbers& o) { Sgd(runs, n, o); }
void SgdDouble(double* const (&runs)[5], int64_t n, const SgdNumbers& o) { Sgd(runs, n, o); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(AdamFloat);
TENON_EXPORT(AdamDouble);
TENON_EXPORT(SgdFloat);
TENON_EXPORT(SgdDouble);

void adam_step(float* const (&runs)[5], int64_t n, const AdamNumbers& o) {
  TENON_DISPATCH(AdamFloat)(runs, n, o);
}
void adam_step(double* const (&runs)[5], int64_t n, const AdamNumbers& o) {
  TENON_DISPATCH(AdamDouble)(runs, n, o);
}
void sgd_step(float* const (&runs)[5], int64_t n, const SgdNumbers& o) {
  TENON_DISPATCH(SgdFloat)(runs, n, o);
}
void sgd_step(double* const (&runs)[5], int64_t n, const SgdNumbers& o) {
  TENON_DISPATCH(SgdDouble)(runs, n, o);
}

}  // namespace tenon::cpu
#endif
