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

// A tensor of 8-bit integers as a part of an operation: signed ones are read as unsigned ones that
// are 128 higher, and so is their zero point.
struct Bytes {
  uint8_t flip;  // 128 where they are signed
  int32_t zero;
  float scale;  // of a result: what its numbers are multiplied with
};
// y = a + b, or their product, as numbers; with relu what is below zero becomes zero. `b_step` is 0
// where one b serves all.
struct BytePair {
  Bytes a, b, y;
  bool product, relu;
  int64_t b_step;
};
void combine(const BytePair& q, const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n);
// y = table[x ^ flip], of 256 elements.
void look_up(const uint8_t* table, uint8_t flip, const uint8_t* x, uint8_t* y, int64_t n);

}  // namespace tenon::cpu
