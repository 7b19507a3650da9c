// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One signal in vectors. From the second stage on a vector has neighbors that share their roots; in
// the first two it has elements of several transforms, whose roots stand in tables of their own,
// and whose results are put in order by the stores. The first stage reads complex numbers, the last
// one writes them. The backward transform is the forward one with real and imaginary parts
// exchanged.
#include "plugin_cpu/fft/line.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plugin_cpu/fft/kept.h"
#include "plugin_cpu/fft/roots.h"
#include "plugin_cpu/memory/buffer.h"
#include "tenon/sdk/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/fft/line.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"
#include "plugin_cpu/fft/stages-inl.h"

#ifndef TENON_CPU_FFT_LINE_ONCE
#define TENON_CPU_FFT_LINE_ONCE
namespace tenon::cpu::fft {

// A signal of n numbers on its way: two buffers, in which imaginary parts are apart() behind the
// real ones. The distances are no multiples of a page.
template <class T>
struct Signal {
  const T *in, *next;  // the signal that comes after this one
  T *out, *room;
  int64_t n;
  const T* roots;
  T scale;
  static int64_t apart(int64_t n) { return n + 128 / static_cast<int64_t>(sizeof(T)); }
  static int64_t room_for(int64_t n) { return 4 * apart(n); }
};

}  // namespace tenon::cpu::fft
#endif

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// Fetches what the last stage writes and the next signal, a little with each part of the stages
// between, as a cache takes only so many lines at a time.
template <class T>
struct Ahead {
  static constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const T* out;
  const T* in;
  int64_t size, *at;
  void operator()(int64_t elements) const {
    const int64_t end = std::min(*at + elements, size);
    for (; *at < end; *at += kLine) {
      __builtin_prefetch(out + *at, 1);
      __builtin_prefetch(in + *at);
    }
  }
};

// Roots of the first two stages: the parts of k = 1 to 3, n / 4 numbers each.
template <class T>
auto roots_at(const T* table, int64_t quarter, int64_t at) {
  return [=](int64_t k, auto& re, auto& im) {
    const hn::ScalableTag<T> d;
    re = hn::LoadU(d, table + (2 * k - 2) * quarter + at);
    im = hn::LoadU(d, table + (2 * k - 1) * quarter + at);
  };
}

template <bool kForward, class T>
void first_stage(const T* HWY_RESTRICT in, T* HWY_RESTRICT y, int64_t n, int64_t apart,
                 const T* roots) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), m = n / 4;
  for (int64_t p = 0; p < m; p += lanes) {
    const auto load = [&](int64_t k, V& re, V& im) {
      const T* from = in + 2 * (k * m + p);
      if (kForward)
        hn::LoadInterleaved2(d, from, re, im);
      else
        hn::LoadInterleaved2(d, from, im, re);
    };
    V re[4], im[4];
    butterfly<V>(load, roots_at(roots, m, p), [&](int64_t k, V r, V i) { re[k] = r, im[k] = i; });
    hn::StoreInterleaved4(re[0], re[1], re[2], re[3], d, y + 4 * p);
    hn::StoreInterleaved4(im[0], im[1], im[2], im[3], d, y + 4 * p + apart);
  }
}

#if HWY_MAX_BYTES > 16
// Groups of four elements, one of each vector in turn.
template <class D, class V, class T>
HWY_INLINE void store_fours(D d, const V* v, T* to) {
  constexpr int64_t kLanes = hn::MaxLanes(d);
  if constexpr (kLanes == 8) {
    hn::StoreU(hn::ConcatLowerLower(d, v[1], v[0]), d, to);
    hn::StoreU(hn::ConcatLowerLower(d, v[3], v[2]), d, to + kLanes);
    hn::StoreU(hn::ConcatUpperUpper(d, v[1], v[0]), d, to + 2 * kLanes);
    hn::StoreU(hn::ConcatUpperUpper(d, v[3], v[2]), d, to + 3 * kLanes);
  } else {
    static_assert(kLanes == 16, "four groups in a vector");
    const auto even = [](V a, V b) { return hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a); };
    const auto odd = [](V a, V b) { return hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a)); };
    const V a = even(v[0], v[1]), b = even(v[2], v[3]), e = odd(v[0], v[1]), f = odd(v[2], v[3]);
    hn::StoreU(hn::ConcatLowerLower(d, b, a), d, to);
    hn::StoreU(hn::ConcatLowerLower(d, f, e), d, to + kLanes);
    hn::StoreU(hn::ConcatUpperUpper(d, b, a), d, to + 2 * kLanes);
    hn::StoreU(hn::ConcatUpperUpper(d, f, e), d, to + 3 * kLanes);
  }
}

template <class T>
void second_stage(const T* HWY_RESTRICT x, T* HWY_RESTRICT y, int64_t n, int64_t apart,
                  const T* roots, const Ahead<T>& ahead) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), quarter = n / 4;
  for (int64_t at = 0; at < quarter; at += lanes) {
    ahead(4 * lanes);
    const auto load = [&](int64_t k, V& re, V& im) {
      re = hn::LoadU(d, x + k * quarter + at);
      im = hn::LoadU(d, x + k * quarter + at + apart);
    };
    V re[4], im[4];
    butterfly<V>(load, roots_at(roots, quarter, at),
                 [&](int64_t k, V r, V i) { re[k] = r, im[k] = i; });
    store_fours(d, re, y + 4 * at);
    store_fours(d, im, y + 4 * at + apart);
  }
}

#endif

template <bool kForward, class D, class V, class T>
HWY_INLINE void store_complex(D d, V re, V im, V scale, T* to) {
  const V a = hn::Mul(re, scale), b = hn::Mul(im, scale);
  if (kForward)
    hn::StoreInterleaved2(a, b, d, to);
  else
    hn::StoreInterleaved2(b, a, d, to);
}

// Of four parts, whose roots are 1.
template <bool kForward, class T>
void last_stage_of_4(const T* HWY_RESTRICT x, T* HWY_RESTRICT out, int64_t n, int64_t apart,
                     T scale) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), quarter = n / 4;
  const V by = hn::Set(d, scale);
  for (int64_t q = 0; q < quarter; q += lanes) {
    const auto load = [&](int64_t k, V& re, V& im) {
      re = hn::LoadU(d, x + k * quarter + q);
      im = hn::LoadU(d, x + k * quarter + q + apart);
    };
    butterfly<V>(load, [&](int64_t k, V re, V im) {
      store_complex<kForward>(d, re, im, by, out + 2 * (k * quarter + q));
    });
  }
}

template <bool kForward, class T>
void last_stage_of_2(const T* HWY_RESTRICT x, T* HWY_RESTRICT out, int64_t n, int64_t apart,
                     T scale) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), half = n / 2;
  const V by = hn::Set(d, scale);
  for (int64_t q = 0; q < half; q += lanes) {
    const V ar = hn::LoadU(d, x + q), ai = hn::LoadU(d, x + q + apart),
            br = hn::LoadU(d, x + half + q), bi = hn::LoadU(d, x + half + q + apart);
    store_complex<kForward>(d, hn::Add(ar, br), hn::Add(ai, bi), by, out + 2 * q);
    store_complex<kForward>(d, hn::Sub(ar, br), hn::Sub(ai, bi), by, out + 2 * (half + q));
  }
}

template <bool kForward, class T>
void transform_line(const fft::Signal<T>& s) {
  const int64_t n = s.n, apart = fft::Signal<T>::apart(n), tables = 6 * (n / 4);
  T *x = s.room, *y = s.room + 2 * apart;
  first_stage<kForward>(s.in, x, n, apart, s.roots);
  int64_t left = n / 4, run = 4, fetched = 0;
  const Ahead<T> ahead{s.out, s.next, 2 * n, &fetched};
#if HWY_MAX_BYTES > 16
  if constexpr (hn::MaxLanes(hn::ScalableTag<T>()) > 4) {
    second_stage(x, y, n, apart, s.roots + tables, ahead);
    std::swap(x, y);
    left /= 4, run *= 4;
  }
#endif
  const T* roots = s.roots + 2 * tables;
  for (; left > 4; left /= 4, run *= 4, std::swap(x, y))
    radix4(x, y, left / 4, run, apart, roots, n / left, ahead);
  if (left == 4)
    last_stage_of_4<kForward>(x, s.out, n, apart, s.scale);
  else
    last_stage_of_2<kForward>(x, s.out, n, apart, s.scale);
}
void float_line(const fft::Signal<float>& s, bool forward) {
  forward ? transform_line<true>(s) : transform_line<false>(s);
}
void double_line(const fft::Signal<double>& s, bool forward) {
  forward ? transform_line<true>(s) : transform_line<false>(s);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(float_line);
TENON_EXPORT(double_line);

namespace fft {
namespace {

using sdk::complex;

constexpr int64_t kShortest = 64, kLongest = 1 << 16, kGrain = 1 << 14;

struct SignalBuffer {};

void transform(const Signal<float>& s, bool forward) { TENON_DISPATCH(float_line)(s, forward); }
void transform(const Signal<double>& s, bool forward) { TENON_DISPATCH(double_line)(s, forward); }

// Roots exp(-2 pi i k p run / n) of p = 0 to n / (4 run) - 1, each `run` times.
template <class T>
void push_stage(std::vector<T>& table, int64_t n, int64_t run) {
  for (int64_t k = 1; k <= 3; ++k) {
    for (const bool imaginary : {false, true}) {
      for (int64_t at = 0; at < n / 4; ++at) {
        const Number r = root(k * (at / run) * run, n, true);
        table.push_back(static_cast<T>(imaginary ? r.imag() : r.real()));
      }
    }
  }
}

template <class T>
std::shared_ptr<const std::vector<T>> roots_of(int64_t n) {
  const Kind kind = sizeof(T) == 4 ? Kind::kFloatLine : Kind::kDoubleLine;
  return Kept::get<std::vector<T>>(n, kind, [&] {
    auto table = std::make_shared<std::vector<T>>();
    table->reserve(static_cast<std::size_t>(5 * n));
    push_stage(*table, n, 1);
    push_stage(*table, n, 4);
    for (int64_t k = 0; k < n; ++k) {
      const Number r = root(k, n, true);
      table->push_back(static_cast<T>(r.real()));
      table->push_back(static_cast<T>(r.imag()));
    }
    return table;
  });
}

}  // namespace

bool takes_lines(const Shape& s) {
  return s.inner == 1 && s.n >= kShortest && s.n <= kLongest && (s.n & (s.n - 1)) == 0;
}

template <class T>
void lines_pass(const complex<T>* in, complex<T>* out, const Shape& s, bool forward, double scale) {
  const int64_t grain = std::max<int64_t>(kGrain / s.n, 1);
  sdk::parallel_for(s.outer, grain, [&](int64_t begin, int64_t end) {
    const auto roots = roots_of<T>(s.n);
    const CallBuffer<SignalBuffer> room(Signal<T>::room_for(s.n) * static_cast<int64_t>(sizeof(T)));
    for (int64_t o = begin; o < end; ++o) {
      const auto* from = reinterpret_cast<const T*>(in + o * s.n);
      auto* to = reinterpret_cast<T*>(out + o * s.n);
      transform(Signal<T>{from, o + 1 < end ? from + 2 * s.n : from, to, room.template as<T>(), s.n,
                          roots->data(), static_cast<T>(scale)},
                forward);
    }
  });
}

#define TN_LINES(T) \
  template void lines_pass<T>(const complex<T>*, complex<T>*, const Shape&, bool, double);
TN_LINES(float)
TN_LINES(double)
#undef TN_LINES

}  // namespace fft
}  // namespace tenon::cpu
#endif
