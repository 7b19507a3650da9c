// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Rows are transposed by squares of 128 bits: each block of a vector is of another signal.
#include "plugin_cpu/fft/columns.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/fft/columns.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void columns_in(const T* in, int64_t step, const fft::Lanes<T>& to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = fft::kLanes<T>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < to.n; ++j) {
    for (int64_t l = 0; l < kLanes; l += lanes) {
      hn::Vec<decltype(d)> re, im;
      hn::LoadInterleaved2(d, in + 2 * (j * step + l), re, im);
      hn::StoreU(re, d, to.re + j * kLanes + l);
      hn::StoreU(im, d, to.im + j * kLanes + l);
    }
  }
}

template <class T>
void columns_out(const fft::Lanes<T>& from, T scale, T* out, int64_t step) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = fft::kLanes<T>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, scale);
  for (int64_t j = 0; j < from.n; ++j) {
    for (int64_t l = 0; l < kLanes; l += lanes) {
      const auto re = hn::LoadU(d, from.re + j * kLanes + l),
                 im = hn::LoadU(d, from.im + j * kLanes + l);
      hn::StoreInterleaved2(hn::Mul(re, by), hn::Mul(im, by), d, out + 2 * (j * step + l));
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
void rows_in(const T* in, int64_t pitch, const fft::Lanes<T>& to) {
  for (int64_t l = 0; l < fft::kLanes<T>; ++l) {
    for (int64_t j = 0; j < to.n; ++j) {
      to.re[j * fft::kLanes<T> + l] = in[2 * (l * pitch + j)];
      to.im[j * fft::kLanes<T> + l] = in[2 * (l * pitch + j) + 1];
    }
  }
}

template <class T>
void rows_out(const fft::Lanes<T>& from, T scale, T* out, int64_t pitch) {
  for (int64_t l = 0; l < fft::kLanes<T>; ++l) {
    for (int64_t j = 0; j < from.n; ++j) {
      out[2 * (l * pitch + j)] = from.re[j * fft::kLanes<T> + l] * scale;
      out[2 * (l * pitch + j) + 1] = from.im[j * fft::kLanes<T> + l] * scale;
    }
  }
}
#else
// One block of 128 bits from each of as many signals as a vector has blocks, `apart` elements from
// one to the next.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t apart) {
  constexpr int64_t kBlocks = static_cast<int64_t>(hn::MaxLanes(d) * sizeof(T) / 16);
  if constexpr (kBlocks == 1) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, from + kBlocks / 2 * apart, apart),
                       load_blocks(half, from, apart));
  }
}
template <class D, class T>
HWY_INLINE void store_blocks(D d, hn::Vec<D> v, T* to, int64_t apart) {
  constexpr int64_t kBlocks = static_cast<int64_t>(hn::MaxLanes(d) * sizeof(T) / 16);
  if constexpr (kBlocks == 1) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), to, apart);
    store_blocks(half, hn::UpperHalf(half, v), to + kBlocks / 2 * apart, apart);
  }
}

// In each block, element i of v[k] becomes element k of v[i].
template <class D, class V>
HWY_INLINE void transpose_blocks(D d, float, V* v) {
  const hn::RepartitionToWide<D> pairs;
  const auto lower = [&](V a, V b) {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto upper = [&](V a, V b) {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const V a = hn::InterleaveLower(d, v[0], v[1]), b = hn::InterleaveUpper(d, v[0], v[1]),
          c = hn::InterleaveLower(d, v[2], v[3]), e = hn::InterleaveUpper(d, v[2], v[3]);
  v[0] = lower(a, c), v[1] = upper(a, c), v[2] = lower(b, e), v[3] = upper(b, e);
}
template <class D, class V>
HWY_INLINE void transpose_blocks(D d, double, V* v) {
  const V a = v[0];
  v[0] = hn::InterleaveLower(d, a, v[1]);
  v[1] = hn::InterleaveUpper(d, a, v[1]);
}

// Of a block: its elements, and its complex numbers.
template <class T>
inline constexpr int64_t kElements = 16 / static_cast<int64_t>(sizeof(T));
template <class T>
inline constexpr int64_t kNumbers = kElements<T> / 2;

template <class T>
void rows_in(const T* in, int64_t pitch, const fft::Lanes<T>& to) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = fft::kLanes<T>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < to.n; j += kNumbers<T>) {
    for (int64_t l = 0; l < kLanes; l += lanes) {
      hn::Vec<decltype(d)> v[kElements<T>];
      for (int64_t k = 0; k < kElements<T>; ++k)
        v[k] = load_blocks(d, in + 2 * ((l + k) * pitch + j), 2 * kElements<T> * pitch);
      transpose_blocks(d, T(), v);
      for (int64_t k = 0; k < kNumbers<T>; ++k) {
        hn::StoreU(v[2 * k], d, to.re + (j + k) * kLanes + l);
        hn::StoreU(v[2 * k + 1], d, to.im + (j + k) * kLanes + l);
      }
    }
  }
}

template <class T>
void rows_out(const fft::Lanes<T>& from, T scale, T* out, int64_t pitch) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = fft::kLanes<T>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, scale);
  for (int64_t j = 0; j < from.n; j += kNumbers<T>) {
    for (int64_t l = 0; l < kLanes; l += lanes) {
      hn::Vec<decltype(d)> v[kElements<T>];
      for (int64_t k = 0; k < kNumbers<T>; ++k) {
        v[2 * k] = hn::Mul(hn::LoadU(d, from.re + (j + k) * kLanes + l), by);
        v[2 * k + 1] = hn::Mul(hn::LoadU(d, from.im + (j + k) * kLanes + l), by);
      }
      transpose_blocks(d, T(), v);
      for (int64_t k = 0; k < kElements<T>; ++k)
        store_blocks(d, v[k], out + 2 * ((l + k) * pitch + j), 2 * kElements<T> * pitch);
    }
  }
}
#endif

template <class V>
HWY_INLINE auto narrowed(float, V v) {
  return hn::DemoteTo(hn::Rebind<float, hn::DFromV<V>>(), v);
}
template <class V>
HWY_INLINE V narrowed(double, V v) {
  return v;
}

// Complex numbers in vectors of doubles.
template <class V>
struct Factor {
  V re, im;
};
template <class V>
HWY_INLINE Factor<V> times(const Factor<V>& a, const Factor<V>& b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)),
          hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}

template <class T, class V>
HWY_INLINE void multiply(T* re, T* im, const Factor<V>& w) {
  const hn::Rebind<T, hn::DFromV<V>> d;
  const auto r = narrowed(T(), w.re), i = narrowed(T(), w.im), a = hn::LoadU(d, re),
             b = hn::LoadU(d, im);
  hn::StoreU(hn::NegMulAdd(b, i, hn::Mul(a, r)), d, re);
  hn::StoreU(hn::MulAdd(a, i, hn::Mul(b, r)), d, im);
}

// Factors of even and of odd elements, since each is waited for by the next one.
template <class T>
void twist(const fft::Lanes<T>& at, double* w, const double* s) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int64_t kLanes = fft::kLanes<T>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t l = 0; l < kLanes; l += lanes) {
    const Factor<V> step{hn::LoadU(d, s + l), hn::LoadU(d, s + kLanes + l)},
        two_steps = times(step, step);
    Factor<V> even{hn::LoadU(d, w + l), hn::LoadU(d, w + kLanes + l)}, odd = times(even, step);
    T *re = at.re + l, *im = at.im + l;
    int64_t j = 0;
    for (; j + 2 <= at.n; j += 2, re += 2 * kLanes, im += 2 * kLanes) {
      multiply(re, im, even);
      multiply(re + kLanes, im + kLanes, odd);
      even = times(even, two_steps);
      odd = times(odd, two_steps);
    }
    if (j < at.n) {
      multiply(re, im, even);
      even = odd;
    }
    hn::StoreU(even.re, d, w + l);
    hn::StoreU(even.im, d, w + kLanes + l);
  }
}

template <class T>
fft::Moves<T> moves_of() {
  return {columns_in<T>, columns_out<T>, rows_in<T>, rows_out<T>, twist<T>};
}
fft::Moves<float> float_moves() { return moves_of<float>(); }
fft::Moves<double> double_moves() { return moves_of<double>(); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(float_moves);
TENON_EXPORT(double_moves);

namespace fft {

template <>
Moves<float> moves() {
  return TENON_DISPATCH(float_moves)();
}
template <>
Moves<double> moves() {
  return TENON_DISPATCH(double_moves)();
}

}  // namespace fft
}  // namespace tenon::cpu
#endif
