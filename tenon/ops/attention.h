// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention as products and a softmax. Private to libtenon.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/ops.h"

namespace tenon::attention {

inline const double kNoPart = -std::numeric_limits<double>::infinity();

// softmax(query @ key.t() * scale, masked) @ value; mask may be undefined, or bool: what takes
// part.
inline Tensor decomposed(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask, double dropout_p, bool is_causal, double scale) {
  Tensor scores = tenon::matmul(query * scale, key.transpose(-2, -1));
  if (is_causal) {
    const Tensor lower = tenon::ones({scores.size(-2), scores.size(-1)},
                                     TensorOptions().dtype(kBool).device(query.device()))
                             .tril();
    scores = scores.masked_fill(tenon::logical_not(lower), kNoPart);
  }
  if (mask.defined() && mask.scalar_type() == kBool) {
    scores = scores.masked_fill(tenon::logical_not(mask), kNoPart);
  } else if (mask.defined()) {
    scores = scores + mask;
  }
  Tensor weights = tenon::softmax(scores, -1);
  if (dropout_p > 0) weights = tenon::dropout(weights, dropout_p, true);
  return tenon::matmul(weights, value);
}

}  // namespace tenon::attention
