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

enum class Code : uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64 };

inline Code code_of(sdk::DType d) {
  using namespace sdk;
  constexpr DType all[] = {kBool,  kUInt8,   kInt8,     kInt16,   kInt32,
                           kInt64, kFloat16, kBFloat16, kFloat32, kFloat64};
  for (int i = 0; i < 10; ++i) {
    if (all[i] == d) return static_cast<Code>(i);
  }
  refuse_dtype(d);
}

TN_HD inline int64_t code_bytes(Code c) {
  switch (c) {
    case Code::Bool:
    case Code::U8:
    case Code::I8:
      return 1;
    case Code::I16:
    case Code::F16:
    case Code::BF16:
      return 2;
    case Code::I32:
    case Code::F32:
      return 4;
    default:
      return 8;
  }
}

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

template <class C>
TN_DEVICE C load(const char* p, Code code) {
  switch (code) {
    case Code::Bool:
      return static_cast<C>(read<uint8_t>(p) != 0);
    case Code::U8:
      return static_cast<C>(read<uint8_t>(p));
    case Code::I8:
      return static_cast<C>(read<int8_t>(p));
    case Code::I16:
      return static_cast<C>(read<int16_t>(p));
    case Code::I32:
      return static_cast<C>(read<int32_t>(p));
    case Code::I64:
      return static_cast<C>(read<int64_t>(p));
    case Code::F16:
      return static_cast<C>(static_cast<float>(read<sdk::Half>(p)));
    case Code::BF16:
      return static_cast<C>(static_cast<float>(read<sdk::BFloat16>(p)));
    case Code::F32:
      return static_cast<C>(read<float>(p));
    default:
      return static_cast<C>(read<double>(p));
  }
}

template <class C>
TN_DEVICE void store(char* p, Code code, C v) {
  switch (code) {
    case Code::Bool:
      return write<uint8_t>(p, v != C(0));
    case Code::U8:
      return write(p, to_integer<uint8_t>(v));
    case Code::I8:
      return write(p, to_integer<int8_t>(v));
    case Code::I16:
      return write(p, to_integer<int16_t>(v));
    case Code::I32:
      return write(p, to_integer<int32_t>(v));
    case Code::I64:
      return write(p, to_integer<int64_t>(v));
    case Code::F16:
      return write(p, sdk::Half(static_cast<float>(v)));
    case Code::BF16:
      return write(p, sdk::BFloat16(static_cast<float>(v)));
    case Code::F32:
      return write(p, static_cast<float>(v));
    default:
      return write(p, static_cast<double>(v));
  }
}

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
