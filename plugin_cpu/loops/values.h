// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Runs of values by dtype: moves, casts, accumulation.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "tenon/sdk/error.h"
#include "tenon/sdk/loop_program/program.h"

namespace tenon::cpu::loop_program {

namespace lp = sdk::loop_program;

template <class F>
void with_type(lp::Dtype dtype, F&& f) {
  switch (dtype) {
    case lp::Dtype::kBool:
      return f(bool{});
    case lp::Dtype::kUint8:
      return f(uint8_t{});
    case lp::Dtype::kInt8:
      return f(int8_t{});
    case lp::Dtype::kInt16:
      return f(int16_t{});
    case lp::Dtype::kInt32:
      return f(int32_t{});
    case lp::Dtype::kInt64:
      return f(int64_t{});
    case lp::Dtype::kFloat:
      return f(float{});
    default:
      return f(double{});
  }
}

// Sums and products of floats accumulate in double, all else in int64, which wraps.
template <class T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

template <class A>
A wrapped_sum(A a, A b) {
  if constexpr (std::is_same_v<A, double>)
    return a + b;
  else
    return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class A>
A wrapped_product(A a, A b) {
  if constexpr (std::is_same_v<A, double>)
    return a * b;
  else
    return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Of bool, sums are `or` and products `and`: the most and the least of 0 and 1. NaN wins.
template <class T>
Sum<T> combined(lp::Update update, Sum<T> old, Sum<T> value) {
  if (std::is_same_v<T, bool> && update == lp::Update::kSum) update = lp::Update::kMax;
  switch (update) {
    case lp::Update::kSum:
      return wrapped_sum(old, value);
    case lp::Update::kProd:
      return wrapped_product(old, value);
    case lp::Update::kMax:
      return value > old || value != value ? value : old;
    case lp::Update::kMin:
      return value < old || value != value ? value : old;
    default:
      return value;
  }
}

template <class T>
Sum<T> neutral(lp::Update update) {
  using L = std::numeric_limits<T>;
  switch (update) {
    case lp::Update::kProd:
      return 1;
    case lp::Update::kMax:
      return std::is_floating_point_v<T> ? -std::numeric_limits<Sum<T>>::infinity()
                                         : static_cast<Sum<T>>(L::lowest());
    case lp::Update::kMin:
      return std::is_floating_point_v<T> ? std::numeric_limits<Sum<T>>::infinity()
                                         : static_cast<Sum<T>>(L::max());
    default:
      return 0;
  }
}

}  // namespace tenon::cpu::loop_program
