// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// float32 convolutions with one filter per channel, plane by plane in the given layout: small ones,
// and square windows, whose work does not pay for the two reorders that a blocked layout takes.
// Each output is its bias and its taps, added in an order that depends on the shape alone.
#include <algorithm>
#include <cstring>

#include "plugin_cpu/conv/conv.h"
#include "plugin_cpu/gemm/epilogue.h"
#include "plugin_cpu/memory/buffer.h"

#ifndef TENON_CPU_CONV_DEPTHWISE_ONCE_
#define TENON_CPU_CONV_DEPTHWISE_ONCE_
namespace tenon::cpu {
namespace {

constexpr int64_t kSmall = 65536;  // multiply-adds; above, oneDNN is faster but for square windows

// What square_planes computes.
bool is_square(const Conv& c) {
  return (c.kernel[1] == 3 || c.kernel[1] == 5) && c.kernel[1] == c.kernel[2] &&
         (c.stride[1] == 1 || c.stride[1] == 2) && c.stride[1] == c.stride[2] &&
         c.dilation[1] == 1 && c.dilation[2] == 1 && c.out[1] >= 4 && c.out[2] >= 2;
}

}  // namespace
}  // namespace tenon::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/conv/depthwise.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"

#include "plugin_cpu/conv/depthwise_square-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
constexpr int kAbreast = 4;

// A plane inside of its padding, split by the phases of the stride: phase (p, q) has the padded
// elements (p + i * stride, q + j * stride), `pitch` apart. Each tap of the kernel then reads
// neighboring elements of one phase for neighboring outputs, and outputs may be numbered through
// the ends of lines: those between the lines are dropped.
struct Phases {
  int64_t sh, sw, pitch, lines, room;  // room: floats per phase
  explicit Phases(const Conv& c)
      : sh(c.stride[1]),
        sw(c.stride[2]),
        pitch((c.in[2] + 2 * c.pad[2] + sw - 1) / sw),
        lines((c.in[1] + 2 * c.pad[1] + sh - 1) / sh),
        room(pitch * lines + (kAbreast + 1) * static_cast<int64_t>(hn::Lanes(D()))) {}
  int64_t size() const { return sh * sw * room; }
  // Of line h and column w of the padded plane.
  int64_t at(int64_t h, int64_t w) const {
    return (h % sh * sw + w % sw) * room + h / sh * pitch + w / sw;
  }
  void fill(const Conv& c, const float* x, float* to) const {
    for (int64_t h = 0; h < c.in[1]; ++h, x += c.in[2]) {
      for (int64_t q = 0; q < std::min(sw, c.in[2]); ++q)
        copy_every(sw, x + q, (c.in[2] - q + sw - 1) / sw, to + at(h + c.pad[1], q + c.pad[2]));
    }
  }
  // n elements, `step` apart.
  static void copy_every(int64_t step, const float* x, int64_t n, float* to) {
    const D d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    if (step == 1) {
      for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, x + i), d, to + i);
    } else if (step == 2) {
      for (; i + lanes < n; i += lanes) {  // the last element may be the last of the tensor
        hn::Vec<D> even, odd;
        hn::LoadInterleaved2(d, x + 2 * i, even, odd);
        hn::StoreU(even, d, to + i);
      }
    }
    for (; i < n; ++i) to[i] = x[i * step];
  }
};

// Where each tap begins to read, in the order of the taps.
struct Taps {
  int64_t count;
  int64_t* offset;
};

// Outputs numbered from `begin` on, kAbreast vectors: their sums are independent.
HWY_INLINE void windows(const float* x, const Taps& taps, const float* w, float bias, float* y) {
  const D d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto s0 = hn::Set(d, bias), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t k = 0; k < taps.count; ++k) {
    const float* p = x + taps.offset[k];
    const auto tap = hn::Set(d, w[k]);
    s0 = hn::MulAdd(tap, hn::LoadU(d, p), s0);
    s1 = hn::MulAdd(tap, hn::LoadU(d, p + lanes), s1);
    s2 = hn::MulAdd(tap, hn::LoadU(d, p + 2 * lanes), s2);
    s3 = hn::MulAdd(tap, hn::LoadU(d, p + 3 * lanes), s3);
  }
  hn::StoreU(s0, d, y);
  hn::StoreU(s1, d, y + lanes);
  hn::StoreU(s2, d, y + 2 * lanes);
  hn::StoreU(s3, d, y + 3 * lanes);
}
HWY_INLINE void one_window(const float* x, const Taps& taps, const float* w, float bias, float* y) {
  const D d;
  auto sum = hn::Set(d, bias);
  for (int64_t k = 0; k < taps.count; ++k)
    sum = hn::MulAdd(hn::Set(d, w[k]), hn::LoadU(d, x + taps.offset[k]), sum);
  hn::StoreU(sum, d, y);
}

void depthwise_planes(const Conv& c, const float* x, const float* w, const float* bias, float* y,
                      int64_t begin, int64_t end) {
  if (is_square(c)) {
    const auto planes = c.kernel[1] == 3
                            ? c.stride[1] == 1 ? square_planes<3, 1> : square_planes<3, 2>
                        : c.stride[1] == 1 ? square_planes<5, 1>
                                           : square_planes<5, 2>;
    return planes(c, x, w, bias, y, begin, end);
  }
  const Phases p(c);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(D())), n = p.pitch * c.out[1];
  Buffer memory((p.size() + n + (kAbreast + 1) * lanes) * static_cast<int64_t>(sizeof(float)));
  Buffer offsets(c.taps() * static_cast<int64_t>(sizeof(int64_t)));
  float *inside = memory.as<float>(), *sums = inside + p.size();
  std::fill(inside, inside + p.size(), 0.0f);
  const Taps taps{c.taps(), offsets.as<int64_t>()};
  for (int64_t k = 0; k < taps.count; ++k)
    taps.offset[k] = p.at(k / c.kernel[2] * c.dilation[1], k % c.kernel[2] * c.dilation[2]);
  for (int64_t q = begin; q < end; ++q) {
    const int64_t channel = q % c.channels;
    const float b = bias ? bias[channel] : 0.0f;
    p.fill(c, x + q * c.in_plane(), inside);
    int64_t i = 0;
    for (; n - i > 2 * lanes; i += kAbreast * lanes)
      windows(inside + i, taps, w + channel * taps.count, b, sums + i);
    for (; i < n; i += lanes) one_window(inside + i, taps, w + channel * taps.count, b, sums + i);
    float* out = y + q * c.out_plane();
    for (int64_t h = 0; h < c.out[1]; ++h)
      std::copy_n(sums + h * p.pitch, c.out[2], out + h * c.out[2]);
  }
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(depthwise_planes);

bool conv_forward_depthwise(const Conv& c, const float* x, const float* w, const float* bias,
                            float* y, const Epilogue& e, const float* other) {
  if (c.groups != c.channels || c.filters != c.channels) return false;
  if (c.in[0] != 1 || c.out[0] != 1 || c.kernel[0] != 1 || c.pad[0] != 0) return false;
  if (!is_square(c) && c.work() * c.batch > kSmall) return false;
  const int64_t each = std::max<int64_t>(1, c.taps() * c.out_plane());
  sdk::parallel_for(c.batch * c.channels, std::max<int64_t>(1, 65536 / each),
                    [&](int64_t begin, int64_t end) {
                      TENON_DISPATCH(depthwise_planes)(c, x, w, bias, y, begin, end);
                      const int64_t first = begin * c.out_plane();
                      const Finish f{e, nullptr, nullptr, other, y, 0};
                      f.block(0, 1, first, end * c.out_plane());
                    });
  return true;
}

}  // namespace tenon::cpu
#endif
