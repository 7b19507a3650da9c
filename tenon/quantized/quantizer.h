// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What a quantized tensor is made of. It is a tensor around its integers, as the tensors of a vmap
// are around their slices (tenon/core/batched.h), so that no kernel takes the integers for numbers.
// Private to libtenon.
#pragma once

#include <memory>

#include "tenon/core/batched.h"
#include "tenon/quantized.h"

namespace tenon::quantized {

struct Quantizer final : core::BatchLevel {
  Quantizer(ScalarType t, double scale_of_all, int64_t zero_of_all);
  Quantizer(ScalarType t, Tensor scale_of_each, Tensor zero_of_each, int64_t dimension);
  bool per_channel() const { return scales.defined(); }
  // One scale and zero point, of integers of 8 bits: what _quantize and _dequantize take.
  bool is_simple() const { return !per_channel() && dtype != kQInt32; }

  const ScalarType dtype;  // kQInt8, kQUInt8 or kQInt32
  const double scale = 1;
  const int64_t zero = 0;
  const Tensor scales, zeros;  // float64 and int64 (of embeddings: float64), or undefined
  const int64_t axis = 0;
};

struct Range {
  int64_t low, high;
};
// TypeError for a dtype that is not quantized; `op` names the caller.
Range range_of(ScalarType quantized, const char* op);
ScalarType integer_dtype(ScalarType quantized);

// The tensor on another device. TypeError where the options ask for another dtype.
Tensor move_to(const Tensor& quantized, const TensorOptions& options, bool non_blocking);

// TypeError for a quantized tensor, of which `op` cannot be asked.
void refuse_quantized(const char* op, const Tensor& t);

Tensor wrap(const Tensor& integers, const core::Ref<Quantizer>& quantizer);
core::Ref<Quantizer> quantizer_of(const Tensor& quantized);
Tensor integers_of(const Tensor& quantized);

// The integers of real numbers: round(x / scale) + zero_point, within the dtype.
Tensor quantize(const Tensor& real, const Quantizer& by);
// The same from numbers in units of the scale, which have no zero point.
Tensor from_shifted(const Tensor& shifted, const Quantizer& by);
// integers - zero_point, as float32.
Tensor shifted(const Tensor& quantized);

// core::BatchLevel::Call of quantized tensors.
void call(const core::Op& op, const tn_value* in, core::TensorImpl** outs, core::Form form);

}  // namespace tenon::quantized
