// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Elements of cuDNN's types as doubles.
#pragma once

#include <cudnn.h>

#include <vector>

#include "tenon/sdk/half.h"

namespace tenon::fake {

template <class F>
void with_type(cudnnDataType_t type, F&& f) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return f(double());
    case CUDNN_DATA_HALF:
      return f(sdk::Half());
    case CUDNN_DATA_BFLOAT16:
      return f(sdk::BFloat16());
    default:
      return f(float());
  }
}

template <class T>
T narrowed(double v) {
  if constexpr (sizeof(T) == 8)
    return v;
  else
    return T(static_cast<float>(v));
}

inline std::vector<double> read(cudnnDataType_t type, const void* p, int64_t n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  with_type(type, [&](auto t) {
    for (int64_t i = 0; i < n; ++i)
      out[static_cast<std::size_t>(i)] = static_cast<double>(static_cast<decltype(t) const*>(p)[i]);
  });
  return out;
}

inline void write(cudnnDataType_t type, const std::vector<double>& v, void* p) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    for (std::size_t i = 0; i < v.size(); ++i) static_cast<T*>(p)[i] = narrowed<T>(v[i]);
  });
}

}  // namespace tenon::fake
