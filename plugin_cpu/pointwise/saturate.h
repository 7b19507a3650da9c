// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu::pw {

// A limit that an integer dtype cannot hold limits nothing: it becomes the dtype's own.
inline sdk::Scalar saturated(sdk::Scalar s, sdk::DType dtype) {
  using sdk::operator==;
  if (sdk::is_floating(dtype) || dtype == sdk::kBool || dtype == sdk::kInt64) return s;
  return sdk::dispatch_all(dtype, [&](auto tag) {
    using T = tn_type(tag);
    if constexpr (std::is_integral_v<T>) {
      using L = std::numeric_limits<T>;
      // Compared as double: the value may be beyond int64.
      const double v = s.to<double>();
      if (!(v > static_cast<double>(L::lowest()))) return sdk::Scalar::of(static_cast<int64_t>(L::lowest()));
      if (v > static_cast<double>(L::max())) return sdk::Scalar::of(static_cast<int64_t>(L::max()));
    }
    return s;
  });
}

}  // namespace tenon::cpu::pw
