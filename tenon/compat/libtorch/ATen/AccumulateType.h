// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/OpMathType.h>

#include <type_traits>

namespace at {
namespace detail {

template <class T, bool is_device>
struct AccumulatedIn {
  using Float = std::conditional_t<is_device || !std::is_same_v<T, float>, opmath_type<T>, double>;
  using type = std::conditional_t<std::is_same_v<T, bool>, bool,
                                  std::conditional_t<std::is_integral_v<T>, int64_t, Float>>;
};

}  // namespace detail

// What sums of many elements are kept in: doubles of floats on the host, int64_t of integers.
template <class T, bool is_device>
using acc_type = typename detail::AccumulatedIn<T, is_device>::type;

}  // namespace at
