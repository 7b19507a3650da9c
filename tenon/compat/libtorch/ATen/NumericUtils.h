// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <cmath>
#include <type_traits>

namespace at {

template <class T>
bool _isnan(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return x != x;
  }
}
template <class T>
bool _isinf(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isinf(static_cast<double>(x));
  }
}

}  // namespace at
