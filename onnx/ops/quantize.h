// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "onnx/import/builder.h"

namespace tenon::onnx {

// None where the node has no such input.
Value* optional_tensor(Builder& b, const ItemPtr& i);
// NotImplementedError where the channels are last.
void check_channels_first(const Call& c);

// The scale and zero point of a whole tensor of 8-bit integers, known while loading.
struct Step {
  double scale;
  int64_t zero;
  int32_t type;
};
// None where they are not known, or there are several; `zero` may be left out.
std::optional<Step> step_of(const ItemPtr& scale, const ItemPtr& zero, int32_t type);
ItemPtr quantize_by(Builder& b, Value* real, const Step& step);
Value* dequantize_by(Builder& b, Value* integers, const Step& step);
// As dequantize_by, also of one scale for each index of `axis`, and of int32; null where scales are
// not known, or the integers have another type.
Value* dequantize_weight(Builder& b, const ItemPtr& weight, const ItemPtr& scale,
                         const ItemPtr& zero, int64_t axis);

// A bias of integers worth scale * weight_scale each, in float32; None where there is none. Both
// are known while loading.
Value* real_bias(Builder& b, const ItemPtr& bias, const ItemPtr& weight_scale, double scale);

// The product with a matrix of 8-bit integers less their zero points, in int32; null where the
// matrix or its zero points are not known while loading.
Value* int_product(Builder& b, const ItemPtr& x, const ItemPtr& weight, const ItemPtr& x_zero,
                   const ItemPtr& zero);

// y / scale, rounded, and the zero point, as integers of the type.
ItemPtr quantize_to(Builder& b, Value* y, const ItemPtr& scale, const ItemPtr& zero, int32_t type);

}  // namespace tenon::onnx
