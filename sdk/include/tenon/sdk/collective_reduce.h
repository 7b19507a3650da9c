// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Element-wise reductions of two buffers, for engines that leave them to the caller. Sums and
// products of integers wrap, half and bfloat16 are computed as floats, a NaN on either side remains
// in a minimum and a maximum. a op b has the bits of b op a, so that the order in which an engine
// adds two parts does not show.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "tenon/abi/ext/collective.h"
#include "tenon/sdk/half.h"

namespace tenon::sdk {

// c[i] = a[i] op b[i]; c may be a or b.
using Combine = void (*)(void* c, const void* a, const void* b, size_t n);
// Divides each of n elements, for averages of floating dtypes.
using Divide = void (*)(void* c, size_t n, int size);

namespace detail {
template <class T>
struct Wide {
  using type = T;
};
template <>
struct Wide<Half> {
  using type = float;
};
template <>
struct Wide<BFloat16> {
  using type = float;
};

template <class T, int32_t R>
constexpr bool is_reduced() {
  constexpr bool integral = std::is_integral_v<T>;
  constexpr bool ordered =
      !std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>;
  if (R == TN_COLLECTIVE_AVG) return !integral;
  if (R == TN_COLLECTIVE_MIN || R == TN_COLLECTIVE_MAX) return ordered;
  return R < TN_COLLECTIVE_BAND || integral;
}

template <class T, bool kGreatest>
T extreme_of(T a, T b) {
  using W = typename Wide<T>::type;
  const W x = a, y = b;
  if constexpr (!std::is_integral_v<T>) {
    if (x != x || y != y) return static_cast<T>(std::numeric_limits<W>::quiet_NaN());
    if (x == y) return static_cast<T>(std::signbit(x) == kGreatest ? y : x);  // zeros of two signs
  }
  return (kGreatest ? x < y : y < x) ? b : a;
}

template <class T, int32_t R>
T reduce_pair(T a, T b) {
  if constexpr (R == TN_COLLECTIVE_MIN || R == TN_COLLECTIVE_MAX) {
    return extreme_of<T, R == TN_COLLECTIVE_MAX>(a, b);
  } else if constexpr (R == TN_COLLECTIVE_BAND) {
    return static_cast<T>(a & b);
  } else if constexpr (R == TN_COLLECTIVE_BOR) {
    return static_cast<T>(a | b);
  } else if constexpr (R == TN_COLLECTIVE_BXOR) {
    return static_cast<T>(a ^ b);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(R == TN_COLLECTIVE_PRODUCT ? x * y : x + y);
  } else {
    using W = typename Wide<T>::type;
    return static_cast<T>(R == TN_COLLECTIVE_PRODUCT ? static_cast<W>(a) * static_cast<W>(b)
                                                     : static_cast<W>(a) + static_cast<W>(b));
  }
}

// f with a value of the dtype's C++ type; R{} for an unknown one.
template <class R, class F>
R of_collective_dtype(tn_dtype d, F f) {
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
      if (bits == 16) return f(Half{});
      if (bits == 32) return f(float{});
      if (bits == 64) return f(double{});
      break;
    case TN_BFLOAT:
      return f(BFloat16{});
    case TN_COMPLEX:
      if (bits == 64) return f(std::complex<float>{});
      if (bits == 128) return f(std::complex<double>{});
      break;
  }
  return R{};
}
}  // namespace detail

template <class T, int32_t R>
void reduce_elements(void* c, const void* a, const void* b, size_t n) {
  auto* out = static_cast<T*>(c);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (size_t i = 0; i < n; ++i) out[i] = detail::reduce_pair<T, R>(x[i], y[i]);
}

// Make<T, R>::value for the dtype's type T and the reduction R where it has one, else Value{}.
template <class Value, template <class, int32_t> class Make>
Value of_reduction(tn_dtype dtype, int32_t reduction) {
  return detail::of_collective_dtype<Value>(dtype, [&](auto v) {
    using T = std::decay_t<decltype(v)>;
    Value out{};
    const auto take = [&](auto r) {
      if constexpr (detail::is_reduced<T, decltype(r)::value>()) {
        if (reduction == decltype(r)::value) out = Make<T, decltype(r)::value>::value;
      }
    };
    take(std::integral_constant<int32_t, TN_COLLECTIVE_SUM>());
    take(std::integral_constant<int32_t, TN_COLLECTIVE_AVG>());
    take(std::integral_constant<int32_t, TN_COLLECTIVE_PRODUCT>());
    take(std::integral_constant<int32_t, TN_COLLECTIVE_MIN>());
    take(std::integral_constant<int32_t, TN_COLLECTIVE_MAX>());
    take(std::integral_constant<int32_t, TN_COLLECTIVE_BAND>());
    take(std::integral_constant<int32_t, TN_COLLECTIVE_BOR>());
    take(std::integral_constant<int32_t, TN_COLLECTIVE_BXOR>());
    return out;
  });
}

namespace detail {
template <class T, int32_t R>
struct CombineOf {
  static constexpr Combine value = reduce_elements<T, R>;
};
}  // namespace detail

// Null: no such reduction of this dtype.
inline Combine combine_of(tn_dtype dtype, int32_t reduction) {
  return of_reduction<Combine, detail::CombineOf>(dtype, reduction);
}

inline Divide divide_of(tn_dtype dtype) {
  return detail::of_collective_dtype<Divide>(dtype, [](auto v) -> Divide {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_integral_v<T>) {
      return nullptr;
    } else {
      return [](void* c, size_t n, int size) {
        using W = typename detail::Wide<T>::type;
        auto* p = static_cast<T*>(c);
        for (size_t i = 0; i < n; ++i)
          p[i] = static_cast<T>(static_cast<W>(p[i]) / static_cast<W>(size));
      };
    }
  });
}

}  // namespace tenon::sdk
