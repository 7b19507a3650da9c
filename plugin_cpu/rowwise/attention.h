// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// softmax(scale * Q K^T + bias) V of many heads, block by block: no matrix of scores is made.
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

struct AttentionShape {
  int64_t batches, heads, queries, keys, depth,
      width;  // depth of Q and K, width of V and the result
  float scale;
  bool causal;  // query i sees the keys up to i

  // Keys that the queries [first, first + rows) see, together.
  int64_t seen(int64_t first, int64_t rows) const {
    return causal && first + rows < keys ? first + rows : keys;
  }
};

template <class T>
struct Attention : AttentionShape {
  Heads<const T> q, k, v;
  Heads<const float> bias;  // may be absent; masked scores are -inf
  Heads<T> out;
  Heads<float> logsumexp;  // one column: the logarithm of the sum of e^score, -inf if none is seen
};

struct AttentionBackward : AttentionShape {
  Heads<const float> q, k, v, bias, grad, out, logsumexp;
  Heads<float> dq, dk, dv;
};

// A row that sees no key becomes 0.

// False if there is no unit of tiles or the shape does not suit it, then nothing was written.
// Scores, exponentials and sums are float; weights are rounded to bfloat16 before they multiply V.
bool attention_tiles(const Attention<sdk::BFloat16>& a);

// How sums are cut depends on the shape alone.
void attention_float(const Attention<float>& a);
// Computes the weights again, from the logarithms of their sums.
void attention_backward(const AttentionBackward& a);

}  // namespace tenon::cpu
