// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>

namespace at {

// A shape in which one size may be -1: what is left of `numel` elements.
inline std::vector<int64_t> infer_size(::tenon::IntArrayRef shape, int64_t numel) {
  std::vector<int64_t> out = shape.vec();
  const auto at = std::find(out.begin(), out.end(), -1);
  if (at != out.end()) {
    *at = 1;
    const int64_t known = c10::multiply_integers(out);
    TENON_CHECK(known > 0 || numel > 0, ValueError, "cannot reshape tensor of 0 elements",
                " into shape ", shape,
                " because the unspecified dimension size -1 can be any value", " and is ambiguous");
    *at = known > 0 && numel % known == 0 ? numel / known : -1;
  }
  TENON_CHECK(std::find_if(out.begin(), out.end(), [](int64_t n) { return n < 0; }) == out.end() &&
                  c10::multiply_integers(out) == numel,
              ValueError, "shape '", shape, "' is invalid for input of size ", numel);
  return out;
}

}  // namespace at
