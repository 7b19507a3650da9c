// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include <type_traits>

namespace at {

template <class T, class = std::enable_if_t<std::is_integral_v<T>>>
T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
template <class T>
T round_up(T a, T b) {
  return ceil_div(a, b) * b;
}

}  // namespace at
