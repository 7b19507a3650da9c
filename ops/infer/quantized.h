// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What integers that stand for real numbers may be.
#pragma once

#include "tenon/core/infer.h"

namespace tenon::core {

// TypeError unless the integers have 8 bits, ValueError unless their zero point is one of them.
inline void check_quantized(const Infer& c, ScalarType dtype, int64_t zero) {
  if (dtype != ScalarType::Byte && dtype != ScalarType::Char)
    fail<TypeError>(c, "expected the dtype uint8 or int8, got ", dtype_name(dtype));
  const int64_t low = dtype == ScalarType::Byte ? 0 : -128;
  if (zero < low || zero > low + 255)
    fail<ValueError>(c, "the zero point ", zero, " is not within the range of ", dtype_name(dtype));
}

}  // namespace tenon::core
