// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Stockham's algorithm: stages of radix 4. Between two stages the elements are in order, so that
// nothing is permuted. Included once for each target.
#if defined(TENON_CPU_FFT_STAGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_FFT_STAGES_INL_H_
#undef TENON_CPU_FFT_STAGES_INL_H_
#else
#define TENON_CPU_FFT_STAGES_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four numbers, load(k, re, im), to their transform, which put(k, re, im) takes.
template <class V, class Load, class Put>
HWY_INLINE void butterfly(const Load& load, const Put& put) {
  V ar, ai, br, bi, cr, ci, dr, di;
  load(0, ar, ai);
  load(1, br, bi);
  load(2, cr, ci);
  load(3, dr, di);
  const V sr = hn::Add(ar, cr), si = hn::Add(ai, ci), tr = hn::Sub(ar, cr), ti = hn::Sub(ai, ci),
          ur = hn::Add(br, dr), ui = hn::Add(bi, di), vr = hn::Sub(br, dr), vi = hn::Sub(bi, di);
  put(0, hn::Add(sr, ur), hn::Add(si, ui));
  put(1, hn::Add(tr, vi), hn::Sub(ti, vr));
  put(2, hn::Sub(sr, ur), hn::Sub(si, ui));
  put(3, hn::Sub(tr, vi), hn::Add(ti, vr));
}

// The same, results 1 to 3 times root(k, re, im).
template <class V, class Load, class Root, class Put>
HWY_INLINE void butterfly(const Load& load, const Root& root, const Put& put) {
  butterfly<V>(load, [&](int64_t k, V re, V im) {
    if (k == 0) return put(k, re, im);
    V wr, wi;
    root(k, wr, wi);
    put(k, hn::NegMulAdd(im, wi, hn::Mul(re, wr)), hn::MulAdd(re, wi, hn::Mul(im, wr)));
  });
}

struct NothingAhead {
  void operator()(int64_t) const {}
};

// Of transforms of 4 m points, `run` elements side by side each: imaginary parts are `apart` behind
// the real ones. Says ahead(n) in front of each n elements.
template <class T, class Ahead = NothingAhead>
void radix4(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, int64_t m, int64_t run, int64_t apart,
            const T* roots, int64_t step, Ahead ahead = {}) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < m; ++p) {
    const auto factor = [&](int64_t k, int part) {
      return hn::Set(d, roots[2 * k * p * step + part]);
    };
    const auto r1 = factor(1, 0), i1 = factor(1, 1), r2 = factor(2, 0), i2 = factor(2, 1),
               r3 = factor(3, 0), i3 = factor(3, 1);
    const T* from = x + p * run;
    T* to = y + 4 * p * run;
    ahead(4 * run);
    for (int64_t q = 0; q < run; q += lanes, from += lanes, to += lanes) {
      const auto load = [&](int64_t k, auto& re, auto& im) {
        re = hn::LoadU(d, from + k * m * run);
        im = hn::LoadU(d, from + k * m * run + apart);
      };
      const auto root = [&](int64_t k, auto& re, auto& im) {
        re = k == 1 ? r1 : k == 2 ? r2 : r3;
        im = k == 1 ? i1 : k == 2 ? i2 : i3;
      };
      butterfly<hn::Vec<decltype(d)>>(load, root, [&](int64_t k, auto re, auto im) {
        hn::StoreU(re, d, to + k * run);
        hn::StoreU(im, d, to + k * run + apart);
      });
    }
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
