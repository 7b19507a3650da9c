// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit integers, with channels innermost.
#pragma once

#include "plugin_cpu/conv/conv.h"

namespace tenon::cpu {

// (sum((x - input_zero) w) + bias) * factor, as a float32, or rounded, plus zero, as an 8-bit
// integer; or the sum alone as an int32. Padding counts as input_zero.
struct Int8Conv {
  Conv shape;
  sdk::DType input, result;  // uint8 or int8, and int32 or float32 for the result
  int32_t input_zero, zero;
  bool relu;        // results are at least `zero`
  bool one_factor;  // for all filters, else one for each
};

// A tensor in memory: its strides in elements, in the order of its dimensions.
struct StridedBytes {
  const void* data;
  sdk::Ints strides;
};

// Whether oneDNN has dot products of 8-bit integers on this processor.
bool int8_by_onednn();

// False if not, or if oneDNN does not support the case, and then nothing was written. Weights are
// int8; `bias`, in units of the sum, may be null. `y` has channels innermost.
bool conv_forward_int8(const Int8Conv& q, StridedBytes x, StridedBytes w,
                       const packed::Origin& from, const float* bias, const float* factors,
                       void* y);

}  // namespace tenon::cpu
