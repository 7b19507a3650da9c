// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Moving elements between tensors, and from one dtype to another.
#pragma once

#include <cstdint>
#include <limits>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

// Blocks of parallel loops that move memory: large enough to pay for waking a thread.
inline constexpr int64_t kMoveGrain = 1 << 15;

// From one element type to another: floats to integers truncate and go through int64, so that a
// value out of range wraps instead of being undefined; NaN becomes the smallest int64. Of a complex
// number a real type gets the real part.
template <class To, class From>
inline To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (sdk::is_complex_v<To>) {
    using Part = typename To::value_type;
    if constexpr (sdk::is_complex_v<From>)
      return To(v);
    else
      return To(convert<Part>(v));
  } else if constexpr (sdk::is_complex_v<From> && std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (sdk::is_complex_v<From>) {
    return convert<To>(v.re);
  } else if constexpr (sdk::is_half_v<From>) {
    return convert<To>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (sdk::is_half_v<To>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const bool fits = v >= From(-0x1p63) && v < From(0x1p63);
    return static_cast<To>(fits ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::min());
  } else {
    return static_cast<To>(v);
  }
}

// out = src, cast to out's dtype and broadcast to its shape; any strides, no overlap but out ==
// src.
void copy_elements(const sdk::Tensor& out, const sdk::Tensor& src);

// For kernels that change some elements of a copy: out = self unless they are the same memory.
inline void start_from(const sdk::Tensor& out, const sdk::Tensor& self) {
  if (out.data<char>() != self.data<char>()) copy_elements(out, self);
}

// The one element of a 0-dim tensor, as T.
template <class T>
T element(const sdk::Tensor& t) {
  return sdk::dispatch_any(t.dtype(),
                           [&](auto tag) { return convert<T>(*t.data<tn_type(tag)>()); });
}

}  // namespace tenon::cpu
