// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// softmax(scale * Q K^T + bias) V of many heads, in bfloat16.
#pragma once

#include <cstdint>

#include "tenon/sdk/half.h"

namespace tenon::cpu {

// Four dimensions: batch, head, row, column. Strides are in elements.
template <class T>
struct Heads {
  T* data = nullptr;
  int64_t stride[4] = {};
  T* at(int64_t batch, int64_t head, int64_t row = 0) const {
    return data + batch * stride[0] + head * stride[1] + row * stride[2];
  }
};

struct Attention {
  int64_t batches, heads, queries, keys, depth,
      width;  // depth of Q and K, width of V and the result
  Heads<const sdk::BFloat16> q, k, v;
  Heads<const float> bias;  // may be absent; masked scores are -inf
  Heads<sdk::BFloat16> out;
  float scale;
  bool causal;  // query i sees the keys up to i
};

// False if there is no unit of tiles or the shape does not suit it, then nothing was written.
// Scores, exponentials and sums are float; weights are rounded to bfloat16 before they multiply V.
// A row that sees no key becomes NaN.
bool attention_tiles(const Attention& a);

}  // namespace tenon::cpu
