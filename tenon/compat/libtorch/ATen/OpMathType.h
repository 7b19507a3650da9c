// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/core/dtype.h"

namespace at {

// What a kernel computes in: float for the floats of 16 bits, else the type itself.
template <class T>
struct OpMathType {
  using type = T;
};
template <>
struct OpMathType<::tenon::Half> {
  using type = float;
};
template <>
struct OpMathType<::tenon::BFloat16> {
  using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;

inline ::tenon::ScalarType toOpMathType(::tenon::ScalarType t) {
  return t == ::tenon::kHalf || t == ::tenon::kBFloat16 ? ::tenon::kFloat : t;
}

}  // namespace at
