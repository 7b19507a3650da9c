// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_gloo/reduce.h"

#include <complex>
#include <type_traits>

#include "tenon/sdk/half.h"

namespace tenon::gloo_engine {
namespace {

template <class T, class F>
void each(void* c, const void* a, const void* b, size_t n, F f) {
  auto* out = static_cast<T*>(c);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (size_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
}

// Sums of integers wrap. A NaN on either side remains in a minimum and a maximum.
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<sdk::Half> {
  using type = float;
};
template <>
struct Wide<sdk::BFloat16> {
  using type = float;
};

template <class T>
T wrapped(T a, T b, bool product) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(product ? x * y : x + y);
  } else {
    using W = typename Wide<T>::type;
    return static_cast<T>(product ? static_cast<W>(a) * static_cast<W>(b)
                                  : static_cast<W>(a) + static_cast<W>(b));
  }
}

template <class T>
T lesser(T a, T b, bool greatest) {
  using W = typename Wide<T>::type;
  const W x = a, y = b;
  if (x != x) return a;
  if (y != y) return b;
  return (greatest ? x < y : y < x) ? b : a;
}

template <class T>
Combine combine_in(int32_t reduction) {
  constexpr bool kOrdered =
      !std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>;
  switch (reduction) {
    case TN_COLLECTIVE_AVG:
      if constexpr (std::is_integral_v<T>) return nullptr;
      [[fallthrough]];
    case TN_COLLECTIVE_SUM:
      return [](void* c, const void* a, const void* b, size_t n) {
        each<T>(c, a, b, n, [](T x, T y) { return wrapped(x, y, false); });
      };
    case TN_COLLECTIVE_PRODUCT:
      return [](void* c, const void* a, const void* b, size_t n) {
        each<T>(c, a, b, n, [](T x, T y) { return wrapped(x, y, true); });
      };
    case TN_COLLECTIVE_MIN:
      if constexpr (kOrdered)
        return [](void* c, const void* a, const void* b, size_t n) {
          each<T>(c, a, b, n, [](T x, T y) { return lesser(x, y, false); });
        };
      return nullptr;
    case TN_COLLECTIVE_MAX:
      if constexpr (kOrdered)
        return [](void* c, const void* a, const void* b, size_t n) {
          each<T>(c, a, b, n, [](T x, T y) { return lesser(x, y, true); });
        };
      return nullptr;
  }
  if constexpr (std::is_integral_v<T>) {
    if (reduction == TN_COLLECTIVE_BAND)
      return [](void* c, const void* a, const void* b, size_t n) {
        each<T>(c, a, b, n, [](T x, T y) { return static_cast<T>(x & y); });
      };
    if (reduction == TN_COLLECTIVE_BOR)
      return [](void* c, const void* a, const void* b, size_t n) {
        each<T>(c, a, b, n, [](T x, T y) { return static_cast<T>(x | y); });
      };
    if (reduction == TN_COLLECTIVE_BXOR)
      return [](void* c, const void* a, const void* b, size_t n) {
        each<T>(c, a, b, n, [](T x, T y) { return static_cast<T>(x ^ y); });
      };
  }
  return nullptr;
}

// Calls f with a value of the dtype's C++ type; none for an unknown one.
template <class R, class F>
R of_dtype(tn_dtype d, F f) {
  if (d.lanes != 1) return R{};
  const int bits = d.bits;
  switch (d.code) {
    case TN_BOOL:
      return f(bool{});
    case TN_UINT:
      if (bits == 8) return f(uint8_t{});
      break;
    case TN_INT:
      if (bits == 8) return f(int8_t{});
      if (bits == 16) return f(int16_t{});
      if (bits == 32) return f(int32_t{});
      if (bits == 64) return f(int64_t{});
      break;
    case TN_FLOAT:
      if (bits == 16) return f(sdk::Half{});
      if (bits == 32) return f(float{});
      if (bits == 64) return f(double{});
      break;
    case TN_BFLOAT:
      return f(sdk::BFloat16{});
    case TN_COMPLEX:
      if (bits == 64) return f(std::complex<float>{});
      if (bits == 128) return f(std::complex<double>{});
      break;
  }
  return R{};
}

}  // namespace

Combine combine_of(tn_dtype dtype, int32_t reduction) {
  return of_dtype<Combine>(dtype, [&](auto v) { return combine_in<decltype(v)>(reduction); });
}

Divide divide_of(tn_dtype dtype) {
  return of_dtype<Divide>(dtype, [](auto v) -> Divide {
    using T = decltype(v);
    if constexpr (std::is_integral_v<T>) {
      return nullptr;
    } else {
      return [](void* c, size_t n, int size) {
        using W = typename Wide<T>::type;
        auto* p = static_cast<T*>(c);
        for (size_t i = 0; i < n; ++i)
          p[i] = static_cast<T>(static_cast<W>(p[i]) / static_cast<W>(size));
      };
    }
  });
}

}  // namespace tenon::gloo_engine
