// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements as numbers. long double has 64 bits of mantissa here, so that it holds every int64 and
// every double.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tenon/sdk/kernel.h"

namespace tenon::ref {

using Real = long double;
using Index = std::vector<int64_t>;
using sdk::Call;
using sdk::DType;
using sdk::Ints;
using sdk::OptTensor;
using sdk::Scalar;
using sdk::Tensor;
using sdk::TensorList;

// Integers keep the low 64 bits, as two's complement arithmetic does.
inline int64_t to_int(Real v) {
  if (!(v == v)) return 0;
  v = std::trunc(v);
  constexpr Real kModulus = 18446744073709551616.0L;
  if (v >= kModulus / 2 || v < -kModulus / 2) v = std::fmod(v, kModulus);
  if (v < 0) v += kModulus;
  return static_cast<int64_t>(static_cast<uint64_t>(v));
}

inline Real load(DType d, const char* p) {
  return sdk::dispatch_all(d, [&](auto tag) -> Real {
    using T = tn_type(tag);
    T v;
    std::memcpy(&v, p, sizeof v);
    if constexpr (sdk::is_half_v<T>)
      return static_cast<float>(v);
    else
      return static_cast<Real>(v);
  });
}

inline void store(DType d, char* p, Real r) {
  sdk::dispatch_all(d, [&](auto tag) {
    using T = tn_type(tag);
    T v;
    if constexpr (std::is_same_v<T, bool>)
      v = r != 0;
    else if constexpr (sdk::is_half_v<T>)
      v = T(static_cast<float>(r));
    else if constexpr (std::is_floating_point_v<T>)
      v = static_cast<T>(r);
    else
      v = static_cast<T>(to_int(r));
    std::memcpy(p, &v, sizeof v);
  });
}

inline int64_t count(Ints sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

inline Index unravel(int64_t i, Ints sizes) {
  Index at(static_cast<std::size_t>(sizes.size()));
  for (int64_t d = sizes.size(); d-- > 0;) {
    at[static_cast<std::size_t>(d)] = i % sizes[d];
    i /= sizes[d];
  }
  return at;
}

inline char* address(const Tensor& t, const Index& at) {
  int64_t e = 0;
  for (int d = 0; d < t.ndim(); ++d) e += at[static_cast<std::size_t>(d)] * t.stride(d);
  return t.data<char>() + e * sdk::item_size(t.dtype());
}

inline Real get(const Tensor& t, const Index& at) { return load(t.dtype(), address(t, at)); }
inline void put(const Tensor& t, const Index& at, Real v) { store(t.dtype(), address(t, at), v); }

// Reads with broadcasting: trailing dimensions are matched, a size of 1 repeats.
inline Real get_broadcast(const Tensor& t, const Index& at) {
  Index own(static_cast<std::size_t>(t.ndim()));
  for (int d = 0; d < t.ndim(); ++d) {
    const std::size_t from = at.size() - own.size() + static_cast<std::size_t>(d);
    own[static_cast<std::size_t>(d)] = t.size(d) == 1 ? 0 : at[from];
  }
  return get(t, own);
}

// f(index) for every element, in row-major order.
template <class F>
void each(Ints sizes, F&& f) {
  for (int64_t i = 0, n = count(sizes); i < n; ++i) f(unravel(i, sizes));
}

inline Real number(const Scalar& s) {
  return s.is_float() ? Real{s.to<double>()} : Real(s.to<int64_t>());
}
// A factor of an integer result is an integer itself: its fraction is cut off.
inline Real factor(const Scalar& s, DType d) {
  return sdk::is_floating(d) ? number(s) : std::trunc(number(s));
}
// Converts a number to an element.
inline Real wrapped(Real v, DType d) {
  char element[8] = {};
  store(d, element, v);
  return load(d, element);
}
// A scalar in place of a tensor is converted to an integer dtype and wraps like its elements.
inline Real operand(const Scalar& s, DType d) {
  return sdk::is_floating(d) ? number(s) : wrapped(number(s), d);
}
inline std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace tenon::ref
