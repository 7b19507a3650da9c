// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_cpu/rowwise/moments.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plugin_cpu/rowwise/moments.cpp"
#include "isa/targets.h"

#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef TENON_ROW_FUNCTIONS
#define TENON_ROW_FUNCTIONS
namespace tenon::cpu {
template <class T>
struct RowFunctions {
  decltype(&row_sum<T>) sum;
  decltype(&row_squares<T>) squares;
  decltype(&row_weighted_sums<T>) weighted;
  decltype(&row_products<T>) products;
  decltype(&row_affine<T>) affine;
  decltype(&row_normalize<T>) normalize;
  decltype(&row_gradient<T>) gradient;
  decltype(&row_add_parameters<T>) parameters;
};
}  // namespace tenon::cpu
#endif

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

template <class T>
T sum(const T* x, int64_t n) {
  return sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR { return at(x); });
}
template <class T>
T squares(const T* x, int64_t n, T shift) {
  const auto s = hn::Set(hn::ScalableTag<T>(), shift);
  return sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR {
    __builtin_prefetch(x + at.at + n, 0, 2);  // the next row, while this one is in cache
    const auto v = hn::Sub(at(x), s);
    return hn::Mul(v, v);
  });
}
template <class T>
Pair<T> weighted(const T* dy, const T* x, const T* w, int64_t n, T shift) {
  const auto s = hn::Set(hn::ScalableTag<T>(), shift);
  Pair<T> r;
  if (w) {
    r.first = sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR { return hn::Mul(at(dy), at(w)); });
    r.second = sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR {
      return hn::Mul(hn::Mul(at(dy), at(w)), hn::Sub(at(x), s));
    });
  } else {
    r.first = sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR { return at(dy); });
    r.second = sum_of<T>(
        n, [&](const Reader<T>& at) HWY_ATTR { return hn::Mul(at(dy), hn::Sub(at(x), s)); });
  }
  return r;
}
template <class T>
T products(const T* dy, const T* x, const T* w, int64_t n) {
  if (!w) return sum_of<T>(n, [&](const Reader<T>& at) HWY_ATTR { return hn::Mul(at(dy), at(x)); });
  return sum_of<T>(
      n, [&](const Reader<T>& at) HWY_ATTR { return hn::Mul(hn::Mul(at(dy), at(w)), at(x)); });
}
template <class T>
void affine(const T* x, T* y, int64_t n, T a, T b) {
  const hn::ScalableTag<T> d;
  const auto va = hn::Set(d, a), vb = hn::Set(d, b);
  each<T>(n, [&](const Reader<T>& at) HWY_ATTR { at.write(hn::MulAdd(at(x), va, vb), y); });
}
template <class T>
void normalize(const T* x, const T* w, const T* b, T* y, int64_t n, T mean, T rstd,
               bool non_temporal) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  const auto value = [&](const Reader<T>& at) HWY_ATTR {
    auto v = hn::Mul(hn::Sub(at(x), m), r);
    if (w) v = hn::Mul(v, at(w));
    if (b) v = hn::Add(v, at(b));
    return v;
  };
  if (non_temporal && reinterpret_cast<uintptr_t>(y) % HWY_MAX_BYTES == 0) {
    each<T>(n, [&](const Reader<T>& at) HWY_ATTR { at.template write<true>(value(at), y); });
    hwy::FlushStream();
  } else {
    each<T>(n, [&](const Reader<T>& at) HWY_ATTR { at.write(value(at), y); });
  }
}
template <class T>
void gradient(const T* dy, const T* x, const T* w, T* dx, int64_t n, T shift, T a, T b, T c) {
  const hn::ScalableTag<T> d;
  const auto va = hn::Set(d, a), vb = hn::Set(d, b), vc = hn::Set(d, c), s = hn::Set(d, shift);
  each<T>(n, [&](const Reader<T>& at) HWY_ATTR {
    auto g = at(dy);
    if (w) g = hn::Mul(g, at(w));
    at.write(hn::Mul(va, hn::MulAdd(hn::Sub(at(x), s), vb, hn::Add(g, vc))), dx);
  });
}
template <class T>
void parameters(const T* dy, const T* x, T* dw, T* db, int64_t n, T mean, T rstd) {
  const hn::ScalableTag<T> d;
  const auto m = hn::Set(d, mean), r = hn::Set(d, rstd);
  each<T>(n, [&](const Reader<T>& at) HWY_ATTR {
    const auto g = at(dy);
    if (dw) at.write(hn::MulAdd(hn::Mul(hn::Sub(at(x), m), r), g, at(dw)), dw);
    if (db) at.write(hn::Add(at(db), g), db);
  });
}

template <class T>
const RowFunctions<T>& functions() {
  static constexpr RowFunctions<T> all = {sum<T>,    squares<T>,   weighted<T>, products<T>,
                                          affine<T>, normalize<T>, gradient<T>, parameters<T>};
  return all;
}
const RowFunctions<float>& row_functions_f32() { return functions<float>(); }
const RowFunctions<double>& row_functions_f64() { return functions<double>(); }

}  // namespace tenon::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::cpu {
namespace {

TENON_EXPORT(row_functions_f32);
TENON_EXPORT(row_functions_f64);

template <class T>
const RowFunctions<T>& row_functions() {
  if constexpr (std::is_same_v<T, float>) {
    static const RowFunctions<float>& chosen = TENON_DISPATCH(row_functions_f32)();
    return chosen;
  } else {
    static const RowFunctions<double>& chosen = TENON_DISPATCH(row_functions_f64)();
    return chosen;
  }
}

}  // namespace

template <class T>
T row_sum(const T* x, int64_t n) {
  return row_functions<T>().sum(x, n);
}
template <class T>
T row_squares(const T* x, int64_t n, Same<T> shift) {
  return row_functions<T>().squares(x, n, shift);
}
template <class T>
Pair<T> row_weighted_sums(const T* dy, const T* x, const Same<T>* w, int64_t n, Same<T> shift) {
  return row_functions<T>().weighted(dy, x, w, n, shift);
}
template <class T>
T row_products(const T* dy, const T* x, const Same<T>* w, int64_t n) {
  return row_functions<T>().products(dy, x, w, n);
}
template <class T>
void row_affine(const T* x, T* y, int64_t n, Same<T> a, Same<T> b) {
  row_functions<T>().affine(x, y, n, a, b);
}
template <class T>
void row_normalize(const T* x, const Same<T>* w, const Same<T>* b, T* y, int64_t n, Same<T> mean,
                   Same<T> rstd, bool non_temporal) {
  row_functions<T>().normalize(x, w, b, y, n, mean, rstd, non_temporal);
}
template <class T>
void row_gradient(const T* dy, const T* x, const Same<T>* w, T* dx, int64_t n, Same<T> shift,
                  Same<T> a, Same<T> b, Same<T> c) {
  row_functions<T>().gradient(dy, x, w, dx, n, shift, a, b, c);
}
template <class T>
void row_add_parameters(const T* dy, const T* x, Same<T>* dw, Same<T>* db, int64_t n, Same<T> mean,
                        Same<T> rstd) {
  row_functions<T>().parameters(dy, x, dw, db, n, mean, rstd);
}

#define TENON_INSTANTIATE(T)                                                          \
  template T row_sum(const T*, int64_t);                                              \
  template T row_squares(const T*, int64_t, T);                                       \
  template Pair<T> row_weighted_sums(const T*, const T*, const T*, int64_t, T);       \
  template T row_products(const T*, const T*, const T*, int64_t);                     \
  template void row_affine(const T*, T*, int64_t, T, T);                              \
  template void row_normalize(const T*, const T*, const T*, T*, int64_t, T, T, bool); \
  template void row_gradient(const T*, const T*, const T*, T*, int64_t, T, T, T, T);  \
  template void row_add_parameters(const T*, const T*, T*, T*, int64_t, T, T);
TENON_INSTANTIATE(float)
TENON_INSTANTIATE(double)
#undef TENON_INSTANTIATE

}  // namespace tenon::cpu
#endif
