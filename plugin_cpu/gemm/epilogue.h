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

// The result of a product, rows `stride` apart, and what finishes it:
//   y[i][j] = activation(y[i][j] + row_bias[i] + column_bias[j] + other[i][j])
// with `other` laid out as y. What is null is left out.
struct Finish {
  Epilogue epilogue;
  const float *row_bias = nullptr, *column_bias = nullptr, *other = nullptr;
  float* y;
  int64_t stride;
  // The same for a result that begins `elements` later.
  Finish from(int64_t elements) const {
    Finish f = *this;
    f.y += elements;
    if (f.other) f.other += elements;
    return f;
  }
  // Rows [i0, i1) of columns [j0, j1).
  void block(int64_t i0, int64_t i1, int64_t j0, int64_t j1) const;
  // All of it, in parallel.
  void all(int64_t rows, int64_t columns) const;
};

}  // namespace tenon::cpu
