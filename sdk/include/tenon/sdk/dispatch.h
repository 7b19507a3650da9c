// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Calls a lambda with the C++ type of a dtype: dispatch_floating(t.dtype(), [&](auto tag) { using T
// = tn_type(tag); ...
// }).
#pragma once

#include <type_traits>

#include "tenon/sdk/complex.h"
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

template <class T>
inline constexpr DType dtype_of = DType{};  // of a C++ type that no dtype has: all zeros

// kBool, kUInt8, kInt8, .. kFloat64, and dtype_of each C++ type.
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  inline constexpr DType k##Name = make_dtype(code, bits);             \
  template <>                                                          \
  inline constexpr DType dtype_of<ctype> = k##Name;
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
// kUInt16, kFloat8E4M3FN, ..: kernels get the bits.
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  inline constexpr DType k##Name = make_dtype(code, bits);
#include "tenon/abi/storage_dtypes.def"
#undef TN_DTYPE

constexpr bool operator==(DType a, DType b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
constexpr bool operator!=(DType a, DType b) { return !(a == b); }
constexpr bool is_floating(DType d) { return d.code == TN_FLOAT || d.code == TN_BFLOAT; }
constexpr bool is_integral(DType d) { return d.code == TN_INT || d.code == TN_UINT; }
constexpr bool is_complex(DType d) { return d.code == TN_COMPLEX; }
constexpr bool is_bool(DType d) { return d.code == TN_BOOL; }
constexpr int64_t item_size(DType d) { return d.bits / 8; }

[[noreturn]] __attribute__((cold, noinline)) inline void refuse_dtype(DType d) {
  throw Error(TN_ERROR_UNSUPPORTED, "no kernel for the dtype with code ", int{d.code}, " and ",
              int{d.bits}, " bits");
}

template <class F>
decltype(auto) dispatch_floating(DType d, F&& f) {
  switch (dtype_key(d)) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case dtype_key(k##Name):                                             \
    if constexpr (is_floating(k##Name)) return f(Type<ctype>{});       \
    break;
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
  }
  refuse_dtype(d);
}

template <class F>
decltype(auto) dispatch_integral(DType d, F&& f) {
  switch (dtype_key(d)) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case dtype_key(k##Name):                                             \
    if constexpr (is_integral(k##Name)) return f(Type<ctype>{});       \
    break;
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
  }
  refuse_dtype(d);
}

template <class F>
decltype(auto) dispatch_complex(DType d, F&& f) {
  switch (dtype_key(d)) {
    case dtype_key(kComplex64):
      return f(Type<complex<float>>{});
    case dtype_key(kComplex128):
      return f(Type<complex<double>>{});
  }
  refuse_dtype(d);
}

// All real ones but bool.
template <class F>
decltype(auto) dispatch_number(DType d, F&& f) {
  return is_floating(d) ? dispatch_floating(d, f) : dispatch_integral(d, f);
}

template <class F>
decltype(auto) dispatch_all(DType d, F&& f) {
  if (is_bool(d)) return f(Type<bool>{});
  return dispatch_number(d, static_cast<F&&>(f));
}

// Those of dispatch_all and complex ones.
template <class F>
decltype(auto) dispatch_any(DType d, F&& f) {
  if (is_complex(d)) return dispatch_complex(d, f);
  return dispatch_all(d, static_cast<F&&>(f));
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

// The same for kernels that know complex numbers, too: 16 bytes are a complex<double>.
template <class F>
decltype(auto) dispatch_any_size(DType d, F&& f) {
  if (d.bits == 128) return f(Type<complex<double>>{});
  return dispatch_size(d, static_cast<F&&>(f));
}

// Dtypes of indices.
template <class F>
decltype(auto) dispatch_index(DType d, F&& f) {
  switch (dtype_key(d)) {
    case dtype_key(kInt64):
      return f(Type<int64_t>{});
    case dtype_key(kInt32):
      return f(Type<int32_t>{});
  }
  refuse_dtype(d);
}

}  // namespace tenon::sdk
