// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tenon/core/error.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"

namespace tenon::composite {

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa) {
  const char* name = "scaled_dot_product_attention";
  const bool masked = attn_mask && attn_mask->defined();
  TENON_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, ValueError, name,
              ": expected 2-D or larger query, key and value, got ", query.dim(), ", ", key.dim(), " and ", value.dim(),
              " dimensions");
  TENON_CHECK(!(masked && is_causal), ValueError, name, ": give attn_mask or is_causal, not both");
  if (query.scalar_type() == kHalf || query.scalar_type() == kBFloat16) {  // scores are kept in float
    const Tensor bias = masked && attn_mask->is_floating_point() ? attn_mask->to(kFloat)
                        : masked                                 ? *attn_mask
                                                                 : Tensor();
    return tenon::scaled_dot_product_attention(query.to(kFloat), key.to(kFloat), value.to(kFloat),
                                               masked ? std::optional<Tensor>(bias) : std::nullopt, dropout_p,
                                               is_causal, scale, enable_gqa)
        .to(query.scalar_type());
  }
  Tensor k = key, v = value;
  if (enable_gqa && query.dim() >= 3) {  // each head of key and value serves a group of query heads
    TENON_CHECK(query.size(-3) % k.size(-3) == 0 && query.size(-3) % v.size(-3) == 0, ValueError, name,
                ": the heads of query (", query.size(-3), ") must be a multiple of those of key and value");
    k = k.repeat_interleave(query.size(-3) / k.size(-3), -3);
    v = v.repeat_interleave(query.size(-3) / v.size(-3), -3);
  }
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  Tensor scores = tenon::matmul(query * factor, k.transpose(-2, -1));
  const double out = -std::numeric_limits<double>::infinity();
  if (is_causal) {
    const Tensor lower =
        tenon::ones({scores.size(-2), scores.size(-1)}, TensorOptions().dtype(kBool).device(query.device())).tril();
    scores = scores.masked_fill(tenon::logical_not(lower), out);
  } else if (masked && attn_mask->scalar_type() == kBool) {
    scores = scores.masked_fill(tenon::logical_not(*attn_mask), out);
  } else if (masked) {
    scores = scores + *attn_mask;
  }
  Tensor weights = tenon::softmax(scores, -1);
  if (dropout_p > 0) weights = tenon::dropout(weights, dropout_p, true);
  return tenon::matmul(weights, v);
}

}  // namespace tenon::composite
