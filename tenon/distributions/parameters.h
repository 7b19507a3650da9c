// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What distributions do with their parameters. Private to libtenon.
#pragma once

#include <limits>

#include "tenon/autograd.h"
#include "tenon/ops.h"

namespace tenon::distributions {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ValueError unless all elements of `holds` are true.
inline void check_parameter(const Tensor& holds, const char* distribution, const char* parameter,
                            const char* wanted) {
  NoGradGuard no_grad;
  TENON_CHECK(holds.all().item<bool>(), ValueError, distribution, ": expected parameter ",
              parameter, " to be ", wanted, ", but found invalid values");
}
inline void check_positive(const Tensor& value, const char* distribution, const char* parameter) {
  check_parameter(value > 0, distribution, parameter, "greater than 0");
}

// Both, in the shape of both.
inline void broadcast(const Tensor& a, const Tensor& b, Tensor* a_out, Tensor* b_out) {
  const std::vector<Tensor> both = broadcast_tensors({a, b});
  *a_out = both[0];
  *b_out = both[1];
}

}  // namespace tenon::distributions
