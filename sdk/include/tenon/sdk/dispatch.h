// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls a lambda with the C++ type of a dtype: dispatch_floating(t.dtype(), [&](auto tag) { using T
// = tn_type(tag); ...
// }).
#pragma once

#include <type_traits>

#include "tenon/sdk/error.h"
#include "tenon/sdk/half.h"

namespace tenon::sdk {

using DType = tn_dtype;

template <class T>
struct Type {
  using type = T;
};
#define tn_type(tag) typename std::decay_t<decltype(tag)>::type

constexpr uint32_t dtype_key(DType d) { return static_cast<uint32_t>(d.code) << 8 | d.bits; }
constexpr DType make_dtype(int code, int bits) {
  return DType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
}

inline constexpr DType kBool = make_dtype(TN_BOOL, 8), kUInt8 = make_dtype(TN_UINT, 8),
                       kInt8 = make_dtype(TN_INT, 8), kInt16 = make_dtype(TN_INT, 16),
                       kInt32 = make_dtype(TN_INT, 32), kInt64 = make_dtype(TN_INT, 64),
                       kFloat16 = make_dtype(TN_FLOAT, 16), kBFloat16 = make_dtype(TN_BFLOAT, 16),
                       kFloat32 = make_dtype(TN_FLOAT, 32), kFloat64 = make_dtype(TN_FLOAT, 64);

template <class T>
inline constexpr DType dtype_of = kBool;
template <>
inline constexpr DType dtype_of<uint8_t> = kUInt8;
template <>
inline constexpr DType dtype_of<int8_t> = kInt8;
template <>
inline constexpr DType dtype_of<int16_t> = kInt16;
template <>
inline constexpr DType dtype_of<int32_t> = kInt32;
template <>
inline constexpr DType dtype_of<int64_t> = kInt64;
template <>
inline constexpr DType dtype_of<Half> = kFloat16;
template <>
inline constexpr DType dtype_of<BFloat16> = kBFloat16;
template <>
inline constexpr DType dtype_of<float> = kFloat32;
template <>
inline constexpr DType dtype_of<double> = kFloat64;

constexpr bool operator==(DType a, DType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
constexpr bool operator!=(DType a, DType b) { return !(a == b); }
constexpr bool is_floating(DType d) { return d.code == TN_FLOAT || d.code == TN_BFLOAT; }
constexpr bool is_integral(DType d) { return d.code == TN_INT || d.code == TN_UINT; }
constexpr bool is_bool(DType d) { return d.code == TN_BOOL; }
constexpr int64_t item_size(DType d) { return d.bits / 8; }

[[noreturn]] __attribute__((cold, noinline)) inline void refuse_dtype(DType d) {
  throw Error(TN_ERROR_UNSUPPORTED, "no kernel for the dtype with code ", int{d.code}, " and ",
              int{d.bits}, " bits");
}

#define TN_DETAIL_CASE(T)      \
  case dtype_key(dtype_of<T>): \
    return f(Type<T>{});

template <class F>
decltype(auto) dispatch_floating(DType d, F&& f) {
  switch (dtype_key(d)) {
    TN_DETAIL_CASE(float)
    TN_DETAIL_CASE(double)
    TN_DETAIL_CASE(Half)
    TN_DETAIL_CASE(BFloat16)
  }
  refuse_dtype(d);
}

template <class F>
decltype(auto) dispatch_integral(DType d, F&& f) {
  switch (dtype_key(d)) {
    TN_DETAIL_CASE(int64_t)
    TN_DETAIL_CASE(int32_t)
    TN_DETAIL_CASE(int16_t)
    TN_DETAIL_CASE(int8_t)
    TN_DETAIL_CASE(uint8_t)
  }
  refuse_dtype(d);
}

// All but bool.
template <class F>
decltype(auto) dispatch_number(DType d, F&& f) {
  return is_floating(d) ? dispatch_floating(d, f) : dispatch_integral(d, f);
}

template <class F>
decltype(auto) dispatch_all(DType d, F&& f) {
  if (is_bool(d)) return f(Type<bool>{});
  return dispatch_number(d, static_cast<F&&>(f));
}

// By element size alone, for kernels that only move elements: uint8_t to uint64_t.
template <class F>
decltype(auto) dispatch_size(DType d, F&& f) {
  switch (d.bits) {
    case 8:
      return f(Type<uint8_t>{});
    case 16:
      return f(Type<uint16_t>{});
    case 32:
      return f(Type<uint32_t>{});
    case 64:
      return f(Type<uint64_t>{});
  }
  refuse_dtype(d);
}

// Dtypes of indices.
template <class F>
decltype(auto) dispatch_index(DType d, F&& f) {
  switch (dtype_key(d)) {
    TN_DETAIL_CASE(int64_t)
    TN_DETAIL_CASE(int32_t)
  }
  refuse_dtype(d);
}
#undef TN_DETAIL_CASE

}  // namespace tenon::sdk
