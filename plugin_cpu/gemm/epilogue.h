// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What follows a product in the same operator, while its result is in the cache: an addend of the
// same shape, then an activation (tenon/abi/activations.def).
#pragma once

#include <cstdint>

#include "tenon/sdk/kernel.h"

namespace tenon::cpu {

enum class Activation : uint8_t {
#define TN_ACTIVATION(name, parameters) name,
#include "tenon/abi/activations.def"
#undef TN_ACTIVATION
};

struct Epilogue {
  Activation activation = Activation::none;
  float parameters[2] = {};
};

// The name and its parameters were checked by the operator's infer function.
Epilogue epilogue_named(sdk::Str activation, sdk::Floats parameters);

// y = activation(y + offset + bias + other) over n elements; bias and other may be null.
void finish(const Epilogue& e, int64_t n, float offset, const float* bias, const float* other,
            float* y);

}  // namespace tenon::cpu
