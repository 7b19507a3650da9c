// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A row (inner size 1) is reduced by vectors; other layouts are taken in tiles of up to kTile
// neighboring columns, each column being one lane. 16-bit floats pass through float buffers.
#include <algorithm>
#include <cmath>

#include "plugin_cpu/memory/buffer.h"
#include "plugin_cpu/rowwise/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/softmax.cpp"
#include "isa/targets.h"

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V exp_of(D d, V x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));  // Highway's Exp returns 0 for NaN
}

// f(vector, index) over n elements; what is left over goes through a padded copy.
template <class T, class F>
HWY_INLINE void each(int64_t n, const T* x, T* y, F&& f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN T tail[HWY_MAX_BYTES / sizeof(T)] = {};
  std::copy(x + i, x + n, tail);
  hn::Store(f(hn::Load(d, tail)), d, tail);
  std::copy(tail, tail + (n - i), y + i);
}

// NaN is ignored here: it propagates through the exponential.
template <class T>
T row_max(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T best = -INFINITY;
  int64_t i = 0;
  if (n >= 2 * lanes) {
    auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + lanes);
    for (i = 2 * lanes; i + 2 * lanes <= n; i += 2 * lanes) {
      const auto u = hn::LoadU(d, x + i), v = hn::LoadU(d, x + i + lanes);
      a = hn::IfThenElse(hn::Gt(u, a), u, a);
      b = hn::IfThenElse(hn::Gt(v, b), v, b);
    }
    HWY_ALIGN T lane[2 * HWY_MAX_BYTES / sizeof(T)];
    hn::Store(a, d, lane);
    hn::Store(b, d, lane + lanes);
    for (int64_t k = 0; k < 2 * lanes; ++k) best = lane[k] > best ? lane[k] : best;
  }
  for (; i < n; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

// The sum of f over the row, in two vectors of partial sums.
template <class T, class F>
HWY_INLINE T row_sum(int64_t n, F&& f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a;
  int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Add(a, f(i, lanes));
    b = hn::Add(b, f(i + lanes, lanes));
  }
  for (; i < n; i += lanes) a = hn::Add(a, f(i, std::min(lanes, n - i)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
}

// All lanes of a vector that has n >= 1 in use. One lane is always all, which g++ does not see by
// itself.
template <class T>
HWY_INLINE bool whole(int64_t n, int64_t lanes) {
  return hn::MaxLanes(hn::ScalableTag<T>()) == 1 || n == lanes;
}

// Lanes [0, n) of memory, zeros above.
template <class T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> part(const T* p, int64_t n, int64_t lanes) {
  const hn::ScalableTag<T> d;
  if (whole<T>(n, lanes)) return hn::LoadU(d, p);
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
  std::copy(p, p + n, buffer);
  return hn::Load(d, buffer);
}

template <class T>
void softmax_row(const T* x, T* y, int64_t n, bool log) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T best = row_max(x, n);
  const auto shift = hn::Set(d, best);
  if (log) {
    const T sum = row_sum<T>(n, [&](int64_t i, int64_t k) {
      auto e = exp_of(d, hn::Sub(part(x + i, k, lanes), shift));
      return k == lanes ? e : hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(k)), e);
    });
    const auto offset = hn::Set(d, std::log(sum));
    each<T>(n, x, y, [&](auto v) { return hn::Sub(hn::Sub(v, shift), offset); });
    return;
  }
  each<T>(n, x, y, [&](auto v) { return exp_of(d, hn::Sub(v, shift)); });
  const T sum = row_sum<T>(n, [&](int64_t i, int64_t k) { return part(y + i, k, lanes); });
  const auto scale = hn::Set(d, T(1) / sum);
  each<T>(n, y, y, [&](auto v) { return hn::Mul(v, scale); });
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
// Rows that fit one vector, without memory in between.
template <class T>
void softmax_short_rows(const T* x, T* y, int64_t rows, int64_t n, bool log) {
  const hn::ScalableTag<T> d;
  const auto live = hn::FirstN(d, static_cast<size_t>(n));
  for (const T* end = x + rows * n; x != end; x += n, y += n) {
    const auto v = hn::IfThenElse(live, hn::MaskedLoad(live, d, x), hn::Set(d, T(-INFINITY)));
    const auto shifted = hn::Sub(v, hn::MaxOfLanes(d, v));
    const auto e = hn::IfThenElseZero(live, exp_of(d, shifted)), sum = hn::SumOfLanes(d, e);
    const auto r = log ? hn::Sub(shifted, hn::Set(d, std::log(hn::GetLane(sum))))
                       : hn::Mul(e, hn::Div(hn::Set(d, T(1)), sum));
    hn::BlendedStore(r, live, d, y);
  }
}
#endif

template <class T>
void backward_row(const T* dy, const T* y, T* dx, int64_t n, bool log) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T sum = row_sum<T>(n, [&](int64_t i, int64_t k) {
    const auto g = part(dy + i, k, lanes);
    return log ? g : hn::Mul(g, part(y + i, k, lanes));
  });
  const auto s = hn::Set(d, sum);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t k = std::min(lanes, n - i);
    const auto g = part(dy + i, k, lanes), r = part(y + i, k, lanes);
    const auto v = log ? hn::Sub(g, hn::Mul(exp_of(d, r), s)) : hn::Mul(hn::Sub(g, s), r);
    if (whole<T>(k, lanes)) {
      hn::StoreU(v, d, dx + i);
    } else {
      HWY_ALIGN T tail[HWY_MAX_BYTES / sizeof(T)];
      hn::Store(v, d, tail);
      std::copy(tail, tail + k, dx + i);
    }
  }
}

constexpr int64_t kTile = 128;

// `w` columns side by side, `stride` apart along the reduced dimension.
template <class T>
void softmax_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t w, bool log) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T best[kTile], sum[kTile], e[kTile];
  std::fill(best, best + w, T(-INFINITY));
  std::fill(sum, sum + w, T(0));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < w; ++j)
      best[j] = x[i * stride + j] > best[j] ? x[i * stride + j] : best[j];
  }
  for (int64_t i = 0; i < n; ++i) {
    const T* row = x + i * stride;
    T* to = log ? e : y + i * stride;
    for (int64_t j = 0; j < w; ++j) e[j] = row[j] - best[j];
    each<T>(w, e, to, [&](auto v) { return exp_of(d, v); });
    for (int64_t j = 0; j < w; ++j) sum[j] += to[j];
  }
  if (log) {
    for (int64_t j = 0; j < w; ++j) sum[j] = std::log(sum[j]);
  } else {
    for (int64_t j = 0; j < w; ++j) sum[j] = T(1) / sum[j];
  }
  for (int64_t i = 0; i < n; ++i) {
    T* to = y + i * stride;
    const T* row = x + i * stride;
    if (log) {
      for (int64_t j = 0; j < w; ++j) to[j] = row[j] - best[j] - sum[j];
    } else {
      for (int64_t j = 0; j < w; ++j) to[j] *= sum[j];
    }
  }
}

template <class T>
void backward_columns(const T* dy, const T* y, T* dx, int64_t n, int64_t stride, int64_t w,
                      bool log) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T sum[kTile], e[kTile];
  std::fill(sum, sum + w, T(0));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < w; ++j)
      sum[j] += log ? dy[i * stride + j] : dy[i * stride + j] * y[i * stride + j];
  }
  for (int64_t i = 0; i < n; ++i) {
    const T *g = dy + i * stride, *r = y + i * stride;
    T* to = dx + i * stride;
    if (log) {
      each<T>(w, r, e, [&](auto v) { return exp_of(d, v); });
      for (int64_t j = 0; j < w; ++j) to[j] = g[j] - e[j] * sum[j];
    } else {
      for (int64_t j = 0; j < w; ++j) to[j] = (g[j] - sum[j]) * r[j];
    }
  }
}

// One task: rows [begin, end) of the outer dimensions, or of (outer, tile of columns).
template <class T>
void forward_range(const SoftmaxShape& s, bool log, const T* x, T* y, int64_t begin, int64_t end) {
  if (s.inner == 1) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    if (s.length <= static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()))) {
      return softmax_short_rows<T>(x + begin * s.length, y + begin * s.length, end - begin,
                                   s.length, log);
    }
#endif
    for (int64_t i = begin; i < end; ++i)
      softmax_row<T>(x + i * s.length, y + i * s.length, s.length, log);
    return;
  }
  const int64_t tiles = (s.inner + kTile - 1) / kTile;
  for (int64_t q = begin; q < end; ++q) {
    const int64_t at = q / tiles * s.length * s.inner + q % tiles * kTile;
    softmax_columns<T>(x + at, y + at, s.length, s.inner,
                       std::min(kTile, s.inner - q % tiles * kTile), log);
  }
}

template <class T>
void backward_range(const SoftmaxShape& s, bool log, const T* dy, const T* y, T* dx, int64_t begin,
                    int64_t end) {
  if (s.inner == 1) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i * s.length;
      backward_row<T>(dy + at, y + at, dx + at, s.length, log);
    }
    return;
  }
  const int64_t tiles = (s.inner + kTile - 1) / kTile;
  for (int64_t q = begin; q < end; ++q) {
    const int64_t at = q / tiles * s.length * s.inner + q % tiles * kTile;
    backward_columns<T>(dy + at, y + at, dx + at, s.length, s.inner,
                        std::min(kTile, s.inner - q % tiles * kTile), log);
  }
}

void forward_f32(const SoftmaxShape& s, bool log, const float* x, float* y, int64_t b, int64_t e) {
  forward_range<float>(s, log, x, y, b, e);
}
void forward_f64(const SoftmaxShape& s, bool log, const double* x, double* y, int64_t b,
                 int64_t e) {
  forward_range<double>(s, log, x, y, b, e);
}
void backward_f32(const SoftmaxShape& s, bool log, const float* dy, const float* y, float* dx,
                  int64_t b, int64_t e) {
  backward_range<float>(s, log, dy, y, dx, b, e);
}
void backward_f64(const SoftmaxShape& s, bool log, const double* dy, const double* y, double* dx,
                  int64_t b, int64_t e) {
  backward_range<double>(s, log, dy, y, dx, b, e);
}

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

TENON_EXPORT(forward_f32);
TENON_EXPORT(forward_f64);
TENON_EXPORT(backward_f32);
TENON_EXPORT(backward_f64);

namespace {

constexpr int64_t kColumns = 128;  // as kTile

struct Tasks {
  int64_t count, grain;
  explicit Tasks(const SoftmaxShape& s) {
    count = s.inner == 1 ? s.outer : s.outer * ((s.inner + kColumns - 1) / kColumns);
    const int64_t elements = s.length * (s.inner == 1 ? 1 : std::min(kColumns, s.inner));
    grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, elements));
  }
};

template <class T, class U>
void convert(const T* from, U* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<U>(static_cast<float>(from[i]));
}

void run(const SoftmaxShape& s, bool log, const float* x, float* y, int64_t b, int64_t e) {
  TENON_DISPATCH(forward_f32)(s, log, x, y, b, e);
}
void run(const SoftmaxShape& s, bool log, const double* x, double* y, int64_t b, int64_t e) {
  TENON_DISPATCH(forward_f64)(s, log, x, y, b, e);
}
void run_backward(const SoftmaxShape& s, bool log, const float* dy, const float* y, float* dx,
                  int64_t b, int64_t e) {
  TENON_DISPATCH(backward_f32)(s, log, dy, y, dx, b, e);
}
void run_backward(const SoftmaxShape& s, bool log, const double* dy, const double* y, double* dx,
                  int64_t b, int64_t e) {
  TENON_DISPATCH(backward_f64)(s, log, dy, y, dx, b, e);
}

// One index of the outer dimension after the other through float buffers.
template <class From, class To>
void forward_converted(const SoftmaxShape& s, bool log, const From* x, To* y) {
  const int64_t n = s.length * s.inner;
  const SoftmaxShape one{1, s.length, s.inner};
  sdk::parallel_for(s.outer, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    Buffer memory(n * 4);
    float* line = memory.as<float>();
    for (int64_t i = begin; i < end; ++i) {
      convert(x + i * n, line, n);
      run(one, log, line, line, 0, Tasks(one).count);
      convert(line, y + i * n, n);
    }
  });
}

template <class From, class To>
void backward_converted(const SoftmaxShape& s, bool log, const From* dy, const From* y, To* dx) {
  const int64_t n = s.length * s.inner;
  const SoftmaxShape one{1, s.length, s.inner};
  sdk::parallel_for(s.outer, std::max<int64_t>(1, 16384 / n), [&](int64_t begin, int64_t end) {
    Buffer memory(n * 8);
    float *grad = memory.as<float>(), *result = grad + n;
    for (int64_t i = begin; i < end; ++i) {
      convert(dy + i * n, grad, n);
      convert(y + i * n, result, n);
      run_backward(one, log, grad, result, grad, 0, Tasks(one).count);
      convert(grad, dx + i * n, n);
    }
  });
}

}  // namespace

void softmax(sdk::DType from, sdk::DType to, const SoftmaxShape& s, bool log, const void* x,
             void* y) {
  const Tasks tasks(s);
  sdk::dispatch_floating(from, [&](auto tag_from) {
    using From = tn_type(tag_from);
    sdk::dispatch_floating(to, [&](auto tag_to) {
      using To = tn_type(tag_to);
      const From* in = static_cast<const From*>(x);
      To* out = static_cast<To*>(y);
      if constexpr (std::is_same_v<From, To> && std::is_floating_point_v<From>) {
        sdk::parallel_for(tasks.count, tasks.grain,
                          [&](int64_t b, int64_t e) { run(s, log, in, out, b, e); });
      } else {
        forward_converted<From, To>(s, log, in, out);
      }
    });
  });
}

void softmax_backward(sdk::DType from, sdk::DType to, const SoftmaxShape& s, bool log,
                      const void* dy, const void* y, void* dx) {
  const Tasks tasks(s);
  sdk::dispatch_floating(from, [&](auto tag_from) {
    using From = tn_type(tag_from);
    sdk::dispatch_floating(to, [&](auto tag_to) {
      using To = tn_type(tag_to);
      const From *grad = static_cast<const From*>(dy), *result = static_cast<const From*>(y);
      To* out = static_cast<To*>(dx);
      if constexpr (std::is_same_v<From, To> && std::is_floating_point_v<From>) {
        sdk::parallel_for(tasks.count, tasks.grain, [&](int64_t b, int64_t e) {
          run_backward(s, log, grad, result, out, b, e);
        });
      } else {
        backward_converted<From, To>(s, log, grad, result, out);
      }
    });
  });
}

}  // namespace tenon::cpu
#endif
