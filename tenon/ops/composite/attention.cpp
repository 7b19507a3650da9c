// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops/attention.h"
#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

// Whether a mask can be expanded to a matrix of scores for each of query's heads, without adding
// heads.
bool mask_fits(const Tensor& mask, const Tensor& q, const Tensor& k) {
  if (mask.dim() > q.dim()) return false;
  for (int64_t d = 1; d <= mask.dim(); ++d) {
    if (mask.size(-d) != 1 && mask.size(-d) != (d == 1 ? k.size(-2) : q.size(-d))) return false;
  }
  return true;
}

// Whether the device has a fused kernel, which saves nothing for a gradient. If decompositions are
// forbidden, the separate operators have kernels, while the fused one may decline.
bool is_fusable(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  if (q.dim() > 4 || core::fallback() == core::Fallback::Forbid) return false;
  const int64_t n = q.dim();
  const auto is_uniform = [&](const Tensor& t) {
    return t.dim() == n &&
           t.sizes().slice(0, static_cast<std::size_t>(n - 2)) ==
               q.sizes().slice(0, static_cast<std::size_t>(n - 2)) &&
           t.scalar_type() == q.scalar_type() && t.device() == q.device() && t.layout() == kStrided;
  };
  if (!is_uniform(q) || !is_uniform(k) || !is_uniform(v) || k.size(-1) != q.size(-1) ||
      k.size(-2) != v.size(-2))
    return false;
  if (mask.defined() && !mask_fits(mask, q, k)) return false;
  for (const Tensor* t : {&q, &k, &v, &mask}) {
    if (GradMode::is_enabled() && t->defined() && t->requires_grad()) return false;
  }
  return core::has_kernel(core::get_op("_fused_attention"), q.unsafeGetTensorImpl()->device_id.slot,
                          q.scalar_type());
}

Tensor with_four_dims(Tensor t) {
  while (t.dim() < 4) t = t.unsqueeze(0);
  return t;
}

Tensor fused_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                       bool is_causal, double scale) {
  const Tensor query = with_four_dims(q), key = with_four_dims(k);
  std::optional<Tensor> bias;
  if (mask.defined()) {
    const Tensor additive =
        mask.scalar_type() == kBool
            ? tenon::zeros(mask.sizes(), TensorOptions(kFloat).device(q.device()))
                  .masked_fill(tenon::logical_not(mask), attention::kNoPart)
            : mask.to(kFloat);
    bias = additive.expand({query.size(0), query.size(1), query.size(2), key.size(2)});
  }
  const Tensor out = tenon::_fused_attention(query, key, with_four_dims(v), bias, is_causal, scale);
  std::vector<int64_t> sizes = q.sizes().vec();
  sizes.back() = v.size(-1);
  return out.view(sizes);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, double dropout_p,
                                    bool is_causal, std::optional<double> scale, bool enable_gqa) {
  const char* name = "scaled_dot_product_attention";
  const bool masked = attn_mask && attn_mask->defined();
  TENON_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, ValueError, name,
              ": expected 2-D or larger query, key and value, got ", query.dim(), ", ", key.dim(),
              " and ", value.dim(), " dimensions");
  TENON_CHECK(!(masked && is_causal), ValueError, name, ": give attn_mask or is_causal, not both");
  const Tensor mask = masked ? *attn_mask : Tensor();
  Tensor k = key, v = value;
  if (enable_gqa && query.dim() >= 3) {  // each head of key and value serves a group of query heads
    const auto serves = [&](const Tensor& t) {
      return t.dim() >= 3 && t.size(-3) > 0 && query.size(-3) % t.size(-3) == 0;
    };
    TENON_CHECK(serves(k) && serves(v), ValueError, name, ": the heads of query (", query.size(-3),
                ") must be a multiple of those of key and value");
    k = k.repeat_interleave(query.size(-3) / k.size(-3), -3);
    v = v.repeat_interleave(query.size(-3) / v.size(-3), -3);
  }
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  if (query.scalar_type() != kHalf && query.scalar_type() != kBFloat16) {
    return attention::decomposed(query, k, v, mask, dropout_p, is_causal, factor);
  }
  if (dropout_p == 0 && is_fusable(query, k, v, mask))
    return fused_attention(query, k, v, mask, is_causal, factor);
  // Scores are kept in float.
  const Tensor bias = masked && mask.is_floating_point() ? mask.to(kFloat) : mask;
  return attention::decomposed(query.to(kFloat), k.to(kFloat), v.to(kFloat), bias, dropout_p,
                               is_causal, factor)
      .to(query.scalar_type());
}

}  // namespace tenon::composite
