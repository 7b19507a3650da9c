// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Depthwise windows of 3x3 and 5x5 taps, of stride 1 and 2: several lines of outputs share the
// lines that they read. Each output is its bias and its taps, column by column. Included once per
// target.
#if defined(TENON_CPU_CONV_DEPTHWISE_SQUARE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_CPU_CONV_DEPTHWISE_SQUARE_INL_H_
#undef TENON_CPU_CONV_DEPTHWISE_SQUARE_INL_H_
#else
#define TENON_CPU_CONV_DEPTHWISE_SQUARE_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A plane within its padding. With a stride of 2 each line is stored as its even columns, then its
// odd ones, so that neighboring outputs read neighboring elements.
struct Padded {
  int64_t width, height;  // of the plane
  int64_t top, left;      // its padding
  int64_t pitch;          // elements of a line of one parity, with room for a vector
  int64_t line;           // between lines
  float* data;
};

// Of n elements that are left.
template <class D>
HWY_INLINE hn::Vec<D> load_next(D d, const float* p, int64_t n) {
  if (n >= static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, p);
  return n <= 0 ? hn::Zero(d) : load_first(d, n, p);
}

template <int S>
void fill_padded(const Padded& to, const float* x) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t even = to.left % S * to.pitch + to.left / S,
                odd = (to.left + 1) % S * to.pitch + (to.left + 1) / S;
  float* line = to.data + to.top * to.line;
  for (int64_t h = 0; h < to.height; ++h, line += to.line, x += to.width) {
    for (int64_t i = 0; i < to.width; i += S * lanes) {
      const auto low = load_next(d, x + i, to.width - i);
      if constexpr (S == 1) {
        hn::StoreU(low, d, line + to.left + i);
      } else {
        const auto high = load_next(d, x + i + lanes, to.width - i - lanes);
#if HWY_TARGET == HWY_SCALAR
        hn::StoreU(low, d, line + even + i / 2);
        hn::StoreU(high, d, line + odd + i / 2);
#else
        hn::StoreU(hn::ConcatEven(d, high, low), d, line + even + i / 2);
        hn::StoreU(hn::ConcatOdd(d, high, low), d, line + odd + i / 2);
#endif
      }
    }
  }
}

// T lines of outputs, one vector across.
template <int K, int S, int T, class D>
HWY_INLINE void tall_windows(D d, const float* x, const Padded& p, const float* w, float bias,
                             hn::Vec<D> (&sum)[T]) {
#pragma GCC unroll 8
  for (int o = 0; o < T; ++o) sum[o] = hn::Set(d, bias);
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) {
    const float* from = x + k % S * p.pitch + k / S;
    hn::Vec<D> tap[K];
#pragma GCC unroll 8
    for (int i = 0; i < K; ++i) tap[i] = hn::Set(d, w[i * K + k]);
#pragma GCC unroll 32
    for (int line = 0; line < S * (T - 1) + K; ++line) {
      const auto v = hn::LoadU(d, from + line * p.line);
#pragma GCC unroll 8
      for (int i = 0; i < K; ++i) {
        const int o = line - i;
        if (o < 0 || o % S != 0 || o / S >= T) continue;
        sum[o / S] = hn::MulAdd(tap[i], v, sum[o / S]);
      }
    }
  }
}

// Whole vectors: the last ones overlap what is already computed. A line of less than a vector is
// stored with what follows it, and the next line overwrites that; not the last line of a plane,
// after which another thread may write.
template <int K, int S, int T, class D>
void square_plane(D d, const Conv& c, const Padded& p, const float* w, float bias, float* y) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = c.out[2], lines = c.out[1];
  for (int64_t h = 0; h < lines; h += T) {
    const int64_t top = std::min(h, lines - T);
    for (int64_t i = 0; i < n; i += lanes) {
      const int64_t at = std::max<int64_t>(0, std::min(i, n - lanes));
      hn::Vec<D> sum[T];
      tall_windows<K, S, T>(d, p.data + top * S * p.line + at, p, w, bias, sum);
      float* to = y + top * n + at;
#pragma GCC unroll 8
      for (int o = 0; o < T - 1; ++o) hn::StoreU(sum[o], d, to + o * n);
      if (n >= lanes || top + T < lines) {
        hn::StoreU(sum[T - 1], d, to + (T - 1) * n);
      } else {
        HWY_ALIGN float last[HWY_MAX_BYTES / sizeof(float)];
        hn::Store(sum[T - 1], d, last);
        std::copy_n(last, n, to + (T - 1) * n);
      }
    }
  }
}

template <int K, int S, int T>
void square_plane_of(const Conv& c, const Padded& p, const float* w, float bias, float* y) {
  const hn::CappedTag<float, 4> four;
  const hn::CappedTag<float, 8> eight;
  const hn::ScalableTag<float> all;
  if (c.out[2] <= static_cast<int64_t>(hn::Lanes(four)))
    square_plane<K, S, T>(four, c, p, w, bias, y);
  else if (c.out[2] <= static_cast<int64_t>(hn::Lanes(eight)))
    square_plane<K, S, T>(eight, c, p, w, bias, y);
  else
    square_plane<K, S, T>(all, c, p, w, bias, y);
}

// Planes [begin, end) of the batch.
template <int K, int S>
void square_planes(const Conv& c, const float* x, const float* w, const float* bias, float* y,
                   int64_t begin, int64_t end) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  Padded p{c.in[2], c.in[1], c.pad[1], c.pad[2], (c.in[2] + 2 * c.pad[2] + 1) / S + lanes,
           0,       nullptr};
  p.line = S * p.pitch;
  const int64_t size = (c.in[1] + 2 * c.pad[1]) * p.line + 2 * lanes;
  Buffer memory(size * static_cast<int64_t>(sizeof(float)));
  p.data = memory.as<float>();
  std::fill(p.data, p.data + size, 0.0f);
  for (int64_t q = begin; q < end; ++q) {
    fill_padded<S>(p, x + q * c.in_plane());
    const int64_t channel = q % c.channels;
    const float b = bias ? bias[channel] : 0.0f, *taps = w + channel * K * K;
    float* to = y + q * c.out_plane();
    if (c.out[1] % 7 == 0)
      square_plane_of<K, S, 7>(c, p, taps, b, to);
    else
      square_plane_of<K, S, 4>(c, p, taps, b, to);
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
