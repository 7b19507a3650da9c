// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Integers that stand for real numbers.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// round(x * factor) + zero, within the range of the integers.
void quantize(const float* x, uint8_t* y, int64_t n, float factor, int32_t zero);
void quantize(const float* x, int8_t* y, int64_t n, float factor, int32_t zero);
// (x - zero) * scale
void dequantize(const uint8_t* x, float* y, int64_t n, float scale, int32_t zero);
void dequantize(const int8_t* x, float* y, int64_t n, float scale, int32_t zero);

}  // namespace tenon::cpu
