// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 convolutions with one filter per channel, plane by plane in the given layout: too little
// work for the two reorders that a blocked layout takes. Each output is its bias and its taps,
// added in their order.
#include <algorithm>
#include <cstring>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/memory/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/conv/depthwise.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
constexpr int kAbreast = 4;

// A plane inside of its padding; lines are some vectors longer, so that the last one may be read
// past its end.
struct Padded {
  int64_t width, height;
  explicit Padded(const Conv& c)
      : width(c.in[2] + 2 * c.pad[2] + kAbreast * static_cast<int64_t>(hn::Lanes(D()))),
        height(c.in[1] + 2 * c.pad[1]) {}
  void fill(const Conv& c, const float* x, float* to) const {
    float* line = to + c.pad[1] * width + c.pad[2];
    for (int64_t h = 0; h < c.in[1]; ++h, x += c.in[2], line += width) {
      std::memcpy(line, x, static_cast<std::size_t>(c.in[2]) * sizeof(float));
    }
  }
};

// Windows of kAbreast vectors next to each other: their sums are independent.
void windows(const Conv& c, const float* x, int64_t width, const float* w, float bias, float* y) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Set(d, bias), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t kh = 0; kh < c.kernel[1]; ++kh) {
    const float* p = x + kh * c.dilation[1] * width;
    for (int64_t kw = 0; kw < c.kernel[2]; ++kw, ++w, p += c.dilation[2]) {
      const auto tap = hn::Set(d, *w);
      s0 = hn::MulAdd(tap, hn::LoadU(d, p), s0);
      s1 = hn::MulAdd(tap, hn::LoadU(d, p + lanes), s1);
      s2 = hn::MulAdd(tap, hn::LoadU(d, p + 2 * lanes), s2);
      s3 = hn::MulAdd(tap, hn::LoadU(d, p + 3 * lanes), s3);
    }
  }
  hn::StoreU(s0, d, y);
  hn::StoreU(s1, d, y + lanes);
  hn::StoreU(s2, d, y + 2 * lanes);
  hn::StoreU(s3, d, y + 3 * lanes);
}

void plane(const Conv& c, const Padded& p, const float* x, const float* w, float bias, float* y) {
  const int64_t step = kAbreast * static_cast<int64_t>(hn::Lanes(D())), n = c.out[2];
  HWY_ALIGN float tail[kAbreast * HWY_MAX_BYTES / sizeof(float)];
  for (int64_t h = 0; h < c.out[1]; ++h, y += n) {
    const float* line = x + h * c.stride[1] * p.width;
    int64_t i = 0;
    for (; i + step <= n; i += step) windows(c, line + i, p.width, w, bias, y + i);
    if (i == n) continue;
    windows(c, line + i, p.width, w, bias, tail);
    std::copy(tail, tail + (n - i), y + i);
  }
}

constexpr int kTall = 4;  // lines of outputs that share the lines that they read

bool is_3x3(const Conv& c) {
  return c.kernel[1] == 3 && c.kernel[2] == 3 && c.stride[1] == 1 && c.dilation[1] == 1 &&
         c.dilation[2] == 1 && c.out[1] >= kTall;
}

// kTall lines of 3x3 windows, two vectors across: at x and y, and `b` further. Each loaded vector
// is used by three lines.
template <class D>
HWY_INLINE void tall_3x3(D d, const float* x, int64_t width, const float* w, float bias, int64_t b,
                         float* y, int64_t n) {
  hn::Vec<D> taps[9], first[kTall], second[kTall];
  for (int i = 0; i < 9; ++i) taps[i] = hn::Set(d, w[i]);
  for (int i = 0; i < kTall; ++i) first[i] = second[i] = hn::Set(d, bias);
#pragma GCC unroll 6
  for (int line = 0; line < kTall + 2; ++line, x += width) {
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      const auto u = hn::LoadU(d, x + k), v = hn::LoadU(d, x + b + k);
#pragma GCC unroll 4
      for (int o = 0; o < kTall; ++o) {
        if (line < o || line > o + 2) continue;
        first[o] = hn::MulAdd(taps[(line - o) * 3 + k], u, first[o]);
        second[o] = hn::MulAdd(taps[(line - o) * 3 + k], v, second[o]);
      }
    }
  }
#pragma GCC unroll 4
  for (int o = 0; o < kTall; ++o, y += n) {
    hn::StoreU(first[o], d, y);
    hn::StoreU(second[o], d, y + b);
  }
}

// Whole vectors only: the last vectors and lines overlap outputs that are already computed.
template <class D>
void plane_3x3(D d, const Conv& c, int64_t width, const float* x, const float* w, float bias,
               float* y) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = c.out[2], last = n - lanes;
  for (int64_t h = 0; h < c.out[1]; h += kTall) {
    const int64_t top = std::min(h, c.out[1] - kTall);
    for (int64_t i = 0; i < n; i += 2 * lanes) {
      const int64_t a = std::min(i, last), b = std::min(i + lanes, last);
      tall_3x3(d, x + top * width + a, width, w, bias, b - a, y + top * n + a, n);
    }
  }
}

// The same outputs as below: bias and taps are added in the same order.
template <class D>
void planes_3x3(D d, const Conv& c, const float* x, const float* w, const float* bias, float* y,
                int64_t begin, int64_t end) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), n = c.in[2];
  const int64_t width = (n + 2 * c.pad[2] + lanes - 1) / lanes * lanes,
                height = c.in[1] + 2 * c.pad[1];
  Buffer memory(width * height * static_cast<int64_t>(sizeof(float)));
  float* inside = memory.as<float>();
  std::fill(inside, inside + width * height, 0.0f);
  for (int64_t q = begin; q < end; ++q) {
    const float* from = x + q * c.in_plane();
    float* line = inside + c.pad[1] * width + c.pad[2];
    for (int64_t h = 0; h < c.in[1]; ++h, from += n, line += width) {
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, line + i);
      for (; i < n; ++i) line[i] = from[i];
    }
    const int64_t channel = q % c.channels;
    plane_3x3(d, c, width, inside, w + channel * 9, bias ? bias[channel] : 0.0f,
              y + q * c.out_plane());
  }
}

void depthwise_planes(const Conv& c, const float* x, const float* w, const float* bias, float* y,
                      int64_t begin, int64_t end) {
  const hn::CappedTag<float, 4> narrow;
  if (is_3x3(c) && c.out[2] >= static_cast<int64_t>(hn::Lanes(D())))
    return planes_3x3(D(), c, x, w, bias, y, begin, end);
  if (is_3x3(c) && c.out[2] >= static_cast<int64_t>(hn::Lanes(narrow)))
    return planes_3x3(narrow, c, x, w, bias, y, begin, end);
  const Padded p(c);
  const int64_t room = p.width * p.height;
  Buffer memory(room * static_cast<int64_t>(sizeof(float)));
  float* inside = memory.as<float>();
  std::fill(inside, inside + room, 0.0f);
  for (int64_t q = begin; q < end; ++q) {
    const int64_t channel = q % c.channels;
    p.fill(c, x + q * c.in_plane(), inside);
    plane(c, p, inside, w + channel * c.taps(), bias ? bias[channel] : 0.0f, y + q * c.out_plane());
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(depthwise_planes);

bool conv_forward_depthwise(const Conv& c, const float* x, const float* w, const float* bias,
                            float* y) {
  if (c.groups != c.channels || c.filters != c.channels || c.stride[2] != 1) return false;
  if (c.in[0] != 1 || c.out[0] != 1 || c.kernel[0] != 1 || c.pad[0] != 0) return false;
  const int64_t each = std::max<int64_t>(1, c.taps() * c.out_plane());
  sdk::parallel_for(c.batch * c.channels, std::max<int64_t>(1, 262144 / each),
                    [&](int64_t begin, int64_t end) {
                      TENON_DISPATCH(depthwise_planes)(c, x, w, bias, y, begin, end);
                    });
  return true;
}

}  // namespace tenon::cpu
#endif
