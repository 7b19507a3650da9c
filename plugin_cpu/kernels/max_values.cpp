// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Largest elements of windows of planes, without where they were: first over the rows of a window,
// then over its columns. Overwritten: the output. NaN is the maximum.
#include "plugin_cpu/kernels/pool.h"
#include "plugin_cpu/memory/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/kernels/max_values.cpp"
#include "isa/targets.h"

#include "hwy/highway.h"
#include "plugin_cpu/simd/larger-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {

// f(d, i) for vectors of d that cover [0, n), the last of which may overlap the one before; false
// where n is less than the smallest.
template <class C, class F>
HWY_INLINE bool cover(int64_t n, F f) {
  const auto by = [&](auto d) HWY_ATTR {
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    if (n < lanes) return false;
    for (int64_t done = 0; done < n; done += lanes) f(d, std::min(done, n - lanes));
    return true;
  };
  return by(hn::ScalableTag<C>()) || by(hn::CappedTag<C, 8>()) || by(hn::CappedTag<C, 4>());
}

template <class C>
HWY_INLINE C larger_of(C v, C best) {
  return v > best || v != v ? v : best;
}

// The largest element of each column over the rows of windows; beside them what never is the
// largest, as far as windows and vectors reach.
template <class C>
class Columns {
 public:
  explicit Columns(const Pool& p) : p_(p), values_(width() * static_cast<int64_t>(sizeof(C))) {
    std::fill_n(values_.template as<C>(), width(), kLowest<C>);
  }

  // The windows of row `oh` of the output.
  void row(const C* plane, int64_t oh, C* y) {
    const Taps rows = taps_inside(p_, 1, oh);
    if (rows.first == rows.last) return std::fill_n(y, p_.out[2], kLowest<C>), void();
    const int64_t first = oh * p_.stride[1] - p_.pad[1] + rows.first * p_.dilation[1];
    down(plane + first * p_.in[2], rows.last - rows.first);
    across(y);
  }

 private:
  int64_t width() const {
    const int64_t reach = (p_.out[2] - 1) * p_.stride[2] + (p_.kernel[2] - 1) * p_.dilation[2] + 1;
    constexpr int64_t kBeyond = 2 * HWY_MAX_BYTES / sizeof(C);
    return std::max(p_.pad[2] + p_.in[2], reach) + kBeyond;
  }

  void down(const C* x, int64_t rows) {
    C* to = values_.template as<C>() + p_.pad[2];
    const int64_t step = p_.dilation[1] * p_.in[2];
    const bool done = cover<C>(p_.in[2], [&](auto d, int64_t i) HWY_ATTR {
      auto best = hn::LoadU(d, x + i);
      for (int64_t t = 1; t < rows; ++t) best = larger(d, hn::LoadU(d, x + i + t * step), best);
      hn::StoreU(best, d, to + i);
    });
    for (int64_t i = 0; !done && i < p_.in[2]; ++i) {
      to[i] = x[i];
      for (int64_t t = 1; t < rows; ++t) to[i] = larger_of(x[i + t * step], to[i]);
    }
  }

  void across(C* y) const {
    const C* x = values_.template as<const C>();
    const int64_t n = p_.out[2], taps = p_.kernel[2], apart = p_.dilation[2], s = p_.stride[2];
    if (s == 1 && cover<C>(n, [&](auto d, int64_t o) HWY_ATTR {
          auto best = hn::LoadU(d, x + o);
          for (int64_t t = 1; t < taps; ++t)
            best = larger(d, hn::LoadU(d, x + o + t * apart), best);
          hn::StoreU(best, d, y + o);
        }))
      return;
    if (s == 2 && apart == 1 && cover<C>(n, [&](auto d, int64_t o) HWY_ATTR {
          auto best = hn::Set(d, kLowest<C>), even = best, odd = best;
          for (int64_t t = 0; t < taps; t += 2) {
            hn::LoadInterleaved2(d, x + 2 * o + t, even, odd);
            best = larger(d, even, best);
            if (t + 1 < taps) best = larger(d, odd, best);
          }
          hn::StoreU(best, d, y + o);
        }))
      return;
    for (int64_t o = 0; o < n; ++o) {
      C best = x[o * s];
      for (int64_t t = 1; t < taps; ++t) best = larger_of(x[o * s + t * apart], best);
      y[o] = best;
    }
  }

  const Pool& p_;
  CallBuffer<Columns> values_;
};

template <class T>
void max_values_of(const Pool& p, const T* x, T* y, int64_t begin, int64_t end) {
  using C = sdk::compute_t<T>;
  constexpr bool kSame = std::is_same_v<C, T>;
  struct Wide;
  struct Line;
  const int64_t in = p.in_plane(), bytes = kSame ? 0 : static_cast<int64_t>(sizeof(C));
  Columns<C> columns(p);
  const CallBuffer<Wide> wide(in * bytes);
  const CallBuffer<Line> line(p.out[2] * bytes);
  for (int64_t q = begin; q < end; ++q) {
    const T* plane = x + q * in;
    T* to = y + q * p.out_plane();
    if constexpr (!kSame)
      for (int64_t i = 0; i < in; ++i) wide.template as<C>()[i] = static_cast<C>(plane[i]);
    for (int64_t oh = 0; oh < p.out[1]; ++oh, to += p.out[2]) {
      if constexpr (kSame) {
        columns.row(plane, oh, to);
      } else {
        columns.row(wide.template as<C>(), oh, line.template as<C>());
        for (int64_t i = 0; i < p.out[2]; ++i) to[i] = T(line.template as<C>()[i]);
      }
    }
  }
}

void max_values(const Pool& p, sdk::DType dtype, const void* x, void* y, int64_t begin,
                int64_t end) {
  sdk::dispatch_number(dtype, [&](auto tag) HWY_ATTR {
    using T = tn_type(tag);
    max_values_of<T>(p, static_cast<const T*>(x), static_cast<T*>(y), begin, end);
  });
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tenon/sdk/ops/_max_pool2d.h"

namespace tenon::cpu {
TENON_EXPORT(max_values);
}

namespace {

using namespace tenon::sdk;

tn_status max_pool(Call&, Tensor out, Tensor self, Ints kernel, Ints stride, Ints pad,
                   Ints dilation, bool) {
  if (out.numel() == 0) return TN_OK;
  const tenon::cpu::Pool p = tenon::cpu::pool_windows(self, out, 2, kernel, stride, pad, dilation);
  parallel_for(p.planes, p.grain(), [&](int64_t begin, int64_t end) {
    using namespace tenon::cpu;
    TENON_DISPATCH(max_values)(p, self.dtype(), self.data(), out.data(), begin, end);
  });
  return TN_OK;
}

}  // namespace

TN_KERNEL(_max_pool2d, max_pool, dtypes("number"));
#endif
