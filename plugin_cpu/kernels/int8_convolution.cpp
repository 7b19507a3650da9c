// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Convolutions of 8-bit integers by oneDNN. Other cases are declined, and computed in float32.
// Overwritten: the output.
#include "tenon/sdk/ops/_int8_convolution.h"

#include <cstdint>

#include "plugin_cpu/conv/int8.h"
#include "plugin_cpu/kernels/conv_geometry.h"

namespace {

using namespace tenon::sdk;
using tenon::cpu::Int8Conv;

bool expanded(Tensor t) {
  for (int d = 0; d < t.ndim(); ++d) {
    if (t.size(d) > 1 && t.stride(d) == 0) return true;
  }
  return false;
}

bool fits32(int64_t n) { return n == static_cast<int32_t>(n); }

tn_status int8_convolution(Call&, Tensor out, Tensor input, Tensor weight, OptTensor bias,
                           Tensor factor, Ints stride, Ints padding, Ints dilation, int64_t groups,
                           int64_t input_zero, DType, int64_t zero, bool relu) {
  const bool plain = (!bias.defined() || bias.contiguous()) && factor.contiguous() &&
                     !expanded(input) && !expanded(weight);
  if (weight.dtype() != kInt8 || !plain || !fits32(input_zero) || !fits32(zero)) return TN_DECLINED;
  if (out.numel() == 0) return TN_OK;
  if (weight.numel() == 0) return TN_DECLINED;
  const Int8Conv q{tenon::cpu::geometry(input, weight, out, stride, padding, dilation, groups),
                   input.dtype(),
                   out.dtype(),
                   static_cast<int32_t>(input_zero),
                   static_cast<int32_t>(zero),
                   relu,
                   factor.numel() == 1};
  const bool done = tenon::cpu::conv_forward_int8(
      q, {input.data(), input.strides()}, {weight.data(), weight.strides()},
      tenon::cpu::packed::origin(weight, true), bias.defined() ? bias.data<const float>() : nullptr,
      factor.data<const float>(), out.data());
  return done ? TN_OK : TN_DECLINED;
}

}  // namespace

TN_KERNEL(_int8_convolution, int8_convolution,
          dtypes("uint8,int8,int32,float32").any_strides().mixed_dtypes());
