// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "onnx/import/builder.h"

namespace tenon::onnx {

// The operator alone, by the node's attributes; null where its padding is not symmetric or has to
// be found while it runs, or where neither the attributes nor `weight` tell the dimensions.
jit::Value* plain_convolution(Builder& b, const Call& c, const ItemPtr& weight, jit::Value* x,
                              jit::Value* w, jit::Value* bias);

}  // namespace tenon::onnx
