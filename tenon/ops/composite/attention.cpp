// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/ops/attention.h"
#include "tenon/core/dispatch.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"
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

// Scores of a head from which on blocks take less time than separate operators: fewer fit the
// caches, and backward packs more operands.
constexpr int64_t kFewestQueries = 16, kFewestScores = 64 * 64, kFewestScoresOfTraining = 1 << 15;

// Whether the device has fused kernels, which know no gradient of a mask. If decompositions are
// forbidden, the separate operators have kernels, while the fused one may decline.
bool is_fusable(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) {
  if (q.dim() > 4 || core::fallback() == core::Fallback::Forbid) return false;
  const bool trains =
      GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (q.size(-2) < kFewestQueries ||
      q.size(-2) * k.size(-2) < (trains ? kFewestScoresOfTraining : kFewestScores))
    return false;
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
  if (GradMode::is_enabled() && mask.defined() && mask.requires_grad()) return false;
  const auto has_kernel = [&](const char* op) {
    return core::has_kernel(core::get_op(op), q.unsafeGetTensorImpl()->device_id.slot,
                            q.scalar_type());
  };
  return has_kernel("_fused_attention") && (!trains || has_kernel("_fused_attention_backward"));
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
  const Tensor out =
      std::get<0>(tenon::_fused_attention(query, key, with_four_dims(v), bias, is_causal, scale));
  std::vector<int64_t> sizes = q.sizes().vec();
  sizes.back() = v.size(-1);
  return out.view(sizes);
}

// Each head of key and value serves a group of query's heads.
std::pair<Tensor, Tensor> shared_heads(const char* name, const Tensor& query, const Tensor& key,
                                       const Tensor& value, bool enable_gqa) {
  if (!enable_gqa || query.dim() < 3) return {key, value};
  const auto serves = [&](const Tensor& t) {
    return t.dim() >= 3 && t.size(-3) > 0 && query.size(-3) % t.size(-3) == 0;
  };
  TENON_CHECK(serves(key) && serves(value), ValueError, name, ": the heads of query (",
              query.size(-3), ") must be a multiple of those of key and value");
  return {key.repeat_interleave(query.size(-3) / key.size(-3), -3),
          value.repeat_interleave(query.size(-3) / value.size(-3), -3)};
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
  TENON_CHECK(query.scalar_type() == key.scalar_type() && key.scalar_type() == value.scalar_type(),
              ValueError, name, ": Expected query, key, and value to have the same dtype, but got ",
              toString(query.scalar_type()), ", ", toString(key.scalar_type()), " and ",
              toString(value.scalar_type()));
  TENON_CHECK(!masked || mask.scalar_type() == kBool || mask.is_floating_point(), ValueError, name,
              ": Expected attn_mask dtype to be bool or float, got ",
              toString(masked ? mask.scalar_type() : kBool));
  const auto [k, v] = shared_heads(name, query, key, value, enable_gqa);
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  if (dropout_p == 0 && is_fusable(query, k, v, mask))
    return fused_attention(query, k, v, mask, is_causal, factor);
  if (query.scalar_type() != kHalf && query.scalar_type() != kBFloat16)
    return attention::decomposed(query, k, v, mask, dropout_p, is_causal, factor);
  // Scores are kept in float.
  const Tensor bias = masked && mask.is_floating_point() ? mask.to(kFloat) : mask;
  return attention::decomposed(query.to(kFloat), k.to(kFloat), v.to(kFloat), bias, dropout_p,
                               is_causal, factor)
      .to(query.scalar_type());
}

Tensor _safe_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype) {
  const Tensor x = dtype ? self.to(*dtype) : self;
  return attention::safe_softmax(x, dim);
}

std::tuple<Tensor, Tensor> _scaled_dot_product_attention_math(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
    const std::optional<Tensor>& dropout_mask, std::optional<double> scale, bool enable_gqa) {
  const char* name = "_scaled_dot_product_attention_math";
  // A bool mask is added as numbers, as ATen does here.
  const Tensor mask = attn_mask ? attn_mask->to(wide(query.scalar_type())) : Tensor();
  TENON_CHECK(!(mask.defined() && is_causal), ValueError, name,
              ": Explicit attn_mask should not be set when is_causal=True");
  const auto [k, v] = shared_heads(name, query, key, value, enable_gqa);
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  Tensor weights = attention::weights(wide(query), wide(k), mask, is_causal, factor);
  const Tensor dropped =
      dropout_mask    ? weights.masked_fill(dropout_mask->logical_not(), 0) * (1 / (1 - dropout_p))
      : dropout_p > 0 ? tenon::dropout(weights, dropout_p, true)
                      : weights;
  return {rounded(tenon::matmul(dropped, wide(v)), query), rounded(weights, query)};
}

std::tuple<Tensor, Tensor> _scaled_dot_product_flash_attention_for_cpu(
    const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool is_causal,
    const std::optional<Tensor>& attn_mask, std::optional<double> scale) {
  const char* name = "_scaled_dot_product_flash_attention_for_cpu";
  TENON_CHECK(query.dim() == 4 && key.dim() == 4 && value.dim() == 4, ValueError, name,
              ": Accept only 4 dims inputs shape of {B, H, T, K}");
  TENON_CHECK(dropout_p == 0, ValueError, name, ": Currently do not support dropout > 0");
  TENON_CHECK(query.size(-1) == value.size(-1) && key.size(-1) == value.size(-1), ValueError, name,
              ": Q/K/V should have the same head size");
  const Tensor mask = attn_mask ? *attn_mask : Tensor();
  const double factor = scale ? *scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const Tensor scores = attention::scores(wide(query), wide(key), mask, is_causal, factor);
  const Tensor out = tenon::matmul(attention::safe_softmax(scores, -1), wide(value));
  return {rounded(out, query), scores.detach().logsumexp({-1})};
}

Tensor _masked_softmax(const Tensor& self, const Tensor& mask, std::optional<int64_t> dim,
                       std::optional<int64_t> type) {
  TENON_CHECK(mask.scalar_type() == kBool, ValueError, "_masked_softmax: Mask should be a boolean ",
              "tensor, got ", toString(mask.scalar_type()));
  const Tensor m = type.value_or(2) == 1 && mask.dim() == 2 && self.dim() == 4
                       ? mask.unsqueeze(1).unsqueeze(1)
                       : mask;
  return tenon::softmax(self.masked_fill(m, attention::kNoPart), dim.value_or(-1));
}

std::tuple<Tensor, Tensor, Tensor> _transform_bias_rescale_qkv(const Tensor& qkv,
                                                               const Tensor& bias, int64_t heads) {
  TENON_CHECK(qkv.dim() == 3 && heads > 0 && qkv.size(2) % (3 * heads) == 0, ValueError,
              "_transform_bias_rescale_qkv: ", qkv.sizes(), " cannot be split for ", heads,
              " heads");
  const int64_t width = qkv.size(2) / 3 / heads;
  const std::vector<Tensor> parts = (qkv + bias)
                                        .view({qkv.size(0), qkv.size(1), 3, heads, width})
                                        .permute({2, 0, 3, 1, 4})
                                        .unbind(0);
  return {parts[0] / std::sqrt(static_cast<double>(width)), parts[1], parts[2]};
}

}  // namespace tenon::composite
