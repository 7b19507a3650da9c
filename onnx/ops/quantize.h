// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "onnx/import/builder.h"

namespace tenon::onnx {

// None where the node has no such input.
Value* optional_tensor(Builder& b, const ItemPtr& i);
// NotImplementedError where the channels are last.
void check_channels_first(const Call& c);

// y / scale, rounded, and the zero point, as integers of the type.
ItemPtr quantize_to(Builder& b, Value* y, const ItemPtr& scale, const ItemPtr& zero, int32_t type);

}  // namespace tenon::onnx
