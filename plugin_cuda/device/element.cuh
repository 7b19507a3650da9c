// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements whose dtype is known when the kernel runs, so that one kernel serves several; and
// 128-bit accesses.
#pragma once

#include "plugin_cuda/device/device.cuh"
#include "tenon/sdk/dispatch.h"

namespace tenon::cuda {

using sdk::operator==;
using sdk::operator!=;
using sdk::is_floating;

// A real dtype by its name in dtypes.def: BOOL, U8, .. F64. The floating ones come last.
#define TN_REAL_DTYPES
enum class Code : uint8_t {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) format,
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
};

inline Code code_of(sdk::DType d) {
  switch (sdk::dtype_key(d)) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case sdk::dtype_key(sdk::k##Name):                                   \
    return Code::format;
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
  }
  sdk::refuse_dtype(d);
}

TN_HD inline int64_t code_bytes(Code c) {
  switch (c) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case Code::format:                                                   \
    return (bits) / 8;
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
  }
  return 0;
}

TN_HD constexpr bool is_floating(Code c) { return c >= Code::BF16; }
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  static_assert(is_floating(Code::format) == sdk::is_floating(sdk::k##Name));
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE

template <class T>
TN_DEVICE T read(const char* p) {
  return *reinterpret_cast<const T*>(p);
}
template <class T>
TN_DEVICE void write(char* p, T v) {
  *reinterpret_cast<T*>(p) = v;
}

// To an integer by way of int64; INT64_MIN replaces values out of its range.
template <class T, class C>
TN_DEVICE T to_integer(C v) {
  if constexpr (std::is_floating_point_v<C>) {
    const bool fits = v >= C(-9223372036854775808.0) && v < C(9223372036854775808.0);
    return static_cast<T>(fits ? static_cast<int64_t>(v) : INT64_MIN);
  } else {
    return static_cast<T>(v);
  }
}

template <class T, class C>
TN_DEVICE C read_as(const char* p) {
  if constexpr (std::is_same_v<T, bool>)
    return static_cast<C>(read<uint8_t>(p) != 0);
  else
    return static_cast<C>(static_cast<sdk::compute_t<T>>(read<T>(p)));
}
template <class T, class C>
TN_DEVICE void write_as(char* p, C v) {
  if constexpr (std::is_same_v<T, bool>)
    write<uint8_t>(p, v != C(0));
  else if constexpr (std::is_integral_v<T>)
    write(p, to_integer<T>(v));
  else
    write(p, T(static_cast<sdk::compute_t<T>>(v)));
}

template <class C>
TN_DEVICE C load(const char* p, Code code) {
  using sdk::BFloat16;
  using sdk::Half;
  switch (code) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case Code::format:                                                   \
    return read_as<ctype, C>(p);
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
  }
  return C();
}

template <class C>
TN_DEVICE void store(char* p, Code code, C v) {
  using sdk::BFloat16;
  using sdk::Half;
  switch (code) {
#define TN_DTYPE(Enum, id, Name, name, ctype, code, bits, cls, format) \
  case Code::format:                                                   \
    return write_as<ctype, C>(p, v);
#include "tenon/abi/dtypes.def"
#undef TN_DTYPE
  }
}

#undef TN_REAL_DTYPES

// The type that a dtype is computed in: float, double, or int64_t for integers and bool.
template <class F>
void with_compute(sdk::DType d, F&& f) {
  if (d == sdk::kFloat64) return f(sdk::Type<double>{});
  if (sdk::is_floating(d)) return f(sdk::Type<float>{});
  return f(sdk::Type<int64_t>{});
}

// The same for floating dtypes.
template <class F>
void with_real(sdk::DType d, F&& f) {
  d == sdk::kFloat64 ? f(sdk::Type<double>{}) : f(sdk::Type<float>{});
}

// N elements in one access, where the address is a multiple of their size.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};
template <class T>
inline constexpr int kPackWidth = 16 / static_cast<int>(sizeof(T));

}  // namespace tenon::cuda
