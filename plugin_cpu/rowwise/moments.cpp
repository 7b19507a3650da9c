// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/rowwise/moments.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/moments.cpp"
#include "isa/targets.h"

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Vector = hn::Vec<hn::ScalableTag<T>>;

// Reads whole vectors from position `at`, or the `n` elements that are left, with zeros above them.
template <class T>
struct Reader {
  int64_t at, n, lanes;
  HWY_INLINE Vector<T> operator()(const T* p) const {
    const hn::ScalableTag<T> d;
    if (HWY_LIKELY(n == lanes)) return hn::LoadU(d, p + at);
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
    std::copy(p + at, p + at + n, buffer);
    return hn::Load(d, buffer);
  }
  template <bool kPast = false>
  HWY_INLINE void write(Vector<T> v, T* p) const {
    const hn::ScalableTag<T> d;
    if (HWY_LIKELY(n == lanes)) {
      if constexpr (kPast)
        hn::Stream(v, d, p + at);
      else
        hn::StoreU(v, d, p + at);
      return;
    }
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(v, d, buffer);
    std::copy(buffer, buffer + n, p + at);
  }
};

template <class T, class F>
HWY_INLINE void each(int64_t n, F&& f) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(Reader<T>{i, lanes, lanes});
  if (i < n) f(Reader<T>{i, n - i, lanes});
}

// Four vectors of partial sums of f, added pairwise.
template <class T, class F>
HWY_INLINE T sum_of(int64_t n, F&& f) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, f(Reader<T>{i, lanes, lanes}));
    b = hn::Add(b, f(Reader<T>{i + lanes, lanes, lanes}));
    c = hn::Add(c, f(Reader<T>{i + 2 * lanes, lanes, lanes}));
    e = hn::Add(e, f(Reader<T>{i + 3 * lanes, lanes, lanes}));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Add(a, f(Reader<T>{i, lanes, lanes}));
  if (i < n) {
    b = hn::Add(b, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(n - i)),
                                      f(Reader<T>{i, n - i, lanes})));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

#define TENON_ROW_BODIES(T, S)                                                                    \
  T sum_##S(const T* x, int64_t n) {                                                              \
    return sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR { return at(x); });                     \
  }                                                                                               \
  T squares_##S(const T* x, int64_t n, T shift) {                                                 \
    const auto s = hn::Set(hn::ScalableTag<T>(), shift);                                          \
    return sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR {                                       \
      __builtin_prefetch(x + at.at + n, 0, 2); /* the next row, while this one is in cache */     \
      const auto v = hn::Sub(at(x), s);                                                           \
      return hn::Mul(v, v);                                                                       \
    });                                                                                           \
  }                                                                                               \
  Pair<T> weighted_##S(const T* dy, const T* x, const T* w, int64_t n, T shift) {                 \
    const auto s = hn::Set(hn::ScalableTag<T>(), shift);                                          \
    Pair<T> r;                                                                                    \
    if (w) {                                                                                      \
      r.first =                                                                                   \
          sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR { return hn::Mul(at(dy), at(w)); });     \
      r.second = sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR {                                 \
        return hn::Mul(hn::Mul(at(dy), at(w)), hn::Sub(at(x), s));                                \
      });                                                                                         \
    } else {                                                                                      \
      r.first = sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR { return at(dy); });               \
      r.second = sum_of<T>(                                                                       \
          n, [&](const Reader<T>& at) HWY_ATTR { return hn::Mul(at(dy), hn::Sub(at(x), s)); });   \
    }                                                                                             \
    return r;                                                                                     \
  }                                                                                               \
  void affine_##S(const T* x, T* y, int64_t n, T a, T b) {                                        \
    const hn::ScalableTag<T> d;                                                                   \
    const auto va = hn::Set(d, a), vb = hn::Set(d, b);                                            \
    each<T>(n, [&](const Reader<T>& at) HWY_ATTR { at.write(hn::MulAdd(at(x), va, vb), y); });    \
  }                                                                                               \
  void normalize_##S(const T* x, const T* w, const T* b, T* y, int64_t n, T mean, T rstd,         \
                     bool non_temporal) {                                                         \
    const hn::ScalableTag<T> d;                                                                   \
    const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);                                        \
    const auto value = [&](const Reader<T>& at) HWY_ATTR {                                        \
      auto v = hn::Mul(hn::Sub(at(x), m), r);                                                     \
      if (w) v = hn::Mul(v, at(w));                                                               \
      if (b) v = hn::Add(v, at(b));                                                               \
      return v;                                                                                   \
    };                                                                                            \
    if (non_temporal && reinterpret_cast<uintptr_t>(y) % HWY_MAX_BYTES == 0) {                    \
      each<T>(n, [&](const Reader<T>& at) HWY_ATTR { at.template write<true>(value(at), y); });   \
      hwy::FlushStream();                                                                         \
    } else {                                                                                      \
      each<T>(n, [&](const Reader<T>& at) HWY_ATTR { at.write(value(at), y); });                  \
    }                                                                                             \
  }                                                                                               \
  void gradient_##S(const T* dy, const T* x, const T* w, T* dx, int64_t n, T shift, T a, T b,     \
                    T c) {                                                                        \
    const hn::ScalableTag<T> d;                                                                   \
    const auto va = hn::Set(d, a), vb = hn::Set(d, b), vc = hn::Set(d, c), s = hn::Set(d, shift); \
    each<T>(n, [&](const Reader<T>& at) HWY_ATTR {                                                \
      auto g = at(dy);                                                                            \
      if (w) g = hn::Mul(g, at(w));                                                               \
      at.write(hn::Mul(va, hn::MulAdd(hn::Sub(at(x), s), vb, hn::Add(g, vc))), dx);               \
    });                                                                                           \
  }                                                                                               \
  void parameters_##S(const T* dy, const T* x, T* dw, T* db, int64_t n, T mean, T rstd) {         \
    const hn::ScalableTag<T> d;                                                                   \
    const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);                                        \
    each<T>(n, [&](const Reader<T>& at) HWY_ATTR {                                                \
      const auto g = at(dy);                                                                      \
      if (dw) at.write(hn::MulAdd(hn::Mul(hn::Sub(at(x), m), r), g, at(dw)), dw);                 \
      if (db) at.write(hn::Add(at(db), g), db);                                                   \
    });                                                                                           \
  }
TENON_ROW_BODIES(float, f32)
TENON_ROW_BODIES(double, f64)
#undef TENON_ROW_BODIES

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {

#define TENON_ROW_ENTRIES(T, S)                                                               \
  TENON_EXPORT(sum_##S);                                                                      \
  TENON_EXPORT(squares_##S);                                                                  \
  TENON_EXPORT(weighted_##S);                                                                 \
  TENON_EXPORT(affine_##S);                                                                   \
  TENON_EXPORT(normalize_##S);                                                                \
  TENON_EXPORT(gradient_##S);                                                                 \
  TENON_EXPORT(parameters_##S);                                                               \
  T row_sum(const T* x, int64_t n) { return TENON_DISPATCH(sum_##S)(x, n); }                  \
  T row_squares(const T* x, int64_t n, T s) { return TENON_DISPATCH(squares_##S)(x, n, s); }  \
  Pair<T> row_gradient_sums(const T* dy, const T* x, int64_t n, T s) {                        \
    return TENON_DISPATCH(weighted_##S)(dy, x, nullptr, n, s);                                \
  }                                                                                           \
  Pair<T> row_weighted_sums(const T* dy, const T* x, const T* w, int64_t n, T s) {            \
    return TENON_DISPATCH(weighted_##S)(dy, x, w, n, s);                                      \
  }                                                                                           \
  void row_affine(const T* x, T* y, int64_t n, T a, T b) {                                    \
    TENON_DISPATCH(affine_##S)(x, y, n, a, b);                                                \
  }                                                                                           \
  void row_normalize(const T* x, const T* w, const T* b, T* y, int64_t n, T mean, T rstd,     \
                     bool non_temporal) {                                                     \
    TENON_DISPATCH(normalize_##S)(x, w, b, y, n, mean, rstd, non_temporal);                   \
  }                                                                                           \
  void row_gradient(const T* dy, const T* x, const T* w, T* dx, int64_t n, T shift, T a, T b, \
                    T c) {                                                                    \
    TENON_DISPATCH(gradient_##S)(dy, x, w, dx, n, shift, a, b, c);                            \
  }                                                                                           \
  void row_add_parameters(const T* dy, const T* x, T* dw, T* db, int64_t n, T mean, T rstd) { \
    TENON_DISPATCH(parameters_##S)(dy, x, dw, db, n, mean, rstd);                             \
  }
TENON_ROW_ENTRIES(float, f32)
TENON_ROW_ENTRIES(double, f64)
#undef TENON_ROW_ENTRIES

}  // namespace tenon::cpu
#endif
