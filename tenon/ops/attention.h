// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Attention as products and a softmax. Private to libtenon.
#pragma once

#include <cmath>
#include <limits>

#include "tenon/ops.h"

namespace tenon::attention {

inline const double kNoPart = -std::numeric_limits<double>::infinity();

// softmax, and 0 where all of the dimension is minus infinity.
inline Tensor safe_softmax(const Tensor& x, int64_t dim) {
  if (x.dim() == 0 || x.numel() == 0) return tenon::softmax(x, dim);
  const Tensor none = x.detach().eq(kNoPart).all(dim, true);
  return tenon::softmax(x.masked_fill(none, 0), dim).masked_fill(none, 0);
}

// query @ key.t() * scale, masked; mask may be undefined, or bool: what takes part.
inline Tensor scores(const Tensor& query, const Tensor& key, const Tensor& mask, bool is_causal,
                     double scale) {
  Tensor made = tenon::matmul(query * scale, key.transpose(-2, -1));
  if (is_causal) {
    const Tensor lower = tenon::ones({made.size(-2), made.size(-1)},
                                     TensorOptions().dtype(kBool).device(query.device()))
                             .tril();
    made = made.masked_fill(tenon::logical_not(lower), kNoPart);
  }
  if (mask.defined() && mask.scalar_type() == kBool)
    return made.masked_fill(tenon::logical_not(mask), kNoPart);
  return mask.defined() ? made + mask : made;
}

// What values are averaged with. Only a mask can leave out all of them.
inline Tensor weights(const Tensor& query, const Tensor& key, const Tensor& mask, bool is_causal,
                      double scale) {
  const Tensor made = scores(query, key, mask, is_causal, scale);
  return mask.defined() ? safe_softmax(made, -1) : tenon::softmax(made, -1);
}

// softmax(query @ key.t() * scale, masked) @ value
inline Tensor decomposed(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& mask, double dropout_p, bool is_causal, double scale) {
  Tensor made = weights(query, key, mask, is_causal, scale);
  if (dropout_p > 0) made = tenon::dropout(made, dropout_p, true);
  return tenon::matmul(made, value);
}

}  // namespace tenon::attention
