// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Coordinates by a mask, and what transformers are made of.
#include <cmath>
#include <limits>

#include "tenon/creation.h"
#include "tenon/jit/operator.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

// The coordinates of what is not zero, one tensor per dimension.
void where(Stack& s) {
  const Tensor condition = pop(s).toTensor();
  s.emplace_back(condition.nonzero_numpy());
}

// What attention adds to the scores [batch, heads, length, length]. mask_type: 0 for a mask of
// positions [length, length], 1 for padding [batch, length], 2 for both in four dimensions.
std::optional<Tensor> attention_mask(const IValue& mask, const IValue& mask_type) {
  if (mask.isNone() || !mask.toTensor().defined()) return std::nullopt;
  Tensor m = mask.toTensor();
  if (!mask_type.isNone() && mask_type.toInt() == 1 && m.dim() == 2)
    m = m.unsqueeze(1).unsqueeze(1);
  if (m.scalar_type() == kBool)
    m = tenon::zeros(m.sizes(), TensorOptions().device(m.device())).masked_fill(m, -INFINITY);
  return m;
}

struct AttentionWeights {
  Tensor qkv_weight, qkv_bias, out_weight, out_bias;
};
struct Attended {
  Tensor values, weights;  // [batch, length, embed], [batch, heads, length, length]
};

Attended attend(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                const AttentionWeights& w, const std::optional<Tensor>& mask) {
  const int64_t embed = query.size(-1), head = embed / heads;
  const auto part = [&](const Tensor& x, int64_t k) {
    const Tensor y = tenon::linear(x, w.qkv_weight.narrow(0, k * embed, embed),
                                   w.qkv_bias.narrow(0, k * embed, embed));
    return y.view({x.size(0), x.size(1), heads, head}).transpose(1, 2);
  };
  const Tensor q = part(query, 0) / std::sqrt(static_cast<double>(head)), k = part(key, 1),
               v = part(value, 2);
  Tensor scores = q.matmul(k.transpose(-2, -1));
  if (mask) scores = scores + *mask;
  const Tensor weights = scores.softmax(-1);
  const Tensor mixed = weights.matmul(v).transpose(1, 2).reshape(query.sizes());
  return {tenon::linear(mixed, w.out_weight, w.out_bias), weights};
}

void multi_head_attention(Stack& s) {
  const IValue mask_type = pop(s);
  const bool average = pop_as<bool>(s), need_weights = pop_as<bool>(s);
  const std::optional<Tensor> mask = attention_mask(pop(s), mask_type);
  AttentionWeights w;
  w.out_bias = pop(s).toTensor();
  w.out_weight = pop(s).toTensor();
  w.qkv_bias = pop(s).toTensor();
  w.qkv_weight = pop(s).toTensor();
  const int64_t heads = pop_as<int64_t>(s);
  drop(s, 1);  // embed_dim
  const Tensor value = pop(s).toTensor(), key = pop(s).toTensor(), query = pop(s).toTensor();
  const Attended made = attend(query, key, value, heads, w, mask);
  s.emplace_back(made.values);
  s.emplace_back(need_weights ? (average ? made.weights.mean(1) : made.weights) : Tensor());
}

// The fast path of nn.TransformerEncoder packs sequences without their padding into a nested
// tensor. Here such a tensor keeps its padding, marked by NaN; a sequence element that is all NaN
// reads as padding, too, and gives zeros instead of NaN.
Tensor nested_from_mask(const Tensor& padded, const Tensor& kept) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return padded.masked_fill(kept.logical_not().unsqueeze(-1), kNaN);
}
Tensor padding_of(const Tensor& nested) { return nested.isnan().all(-1); }
void nested_tensor_from_mask(Stack& s) {
  drop(s, 1);  // mask_check
  const Tensor kept = pop(s).toTensor();
  s.emplace_back(nested_from_mask(pop(s).toTensor(), kept));
}
// Whether every sequence's padding is at its end.
void is_left_aligned(Stack& s) {
  const Tensor kept = pop(s).toTensor().to(kLong);
  s.back() = kept.diff(1, 1).le(0).all().item().to<bool>();
}
void to_padded_tensor(Stack& s) {
  drop(s, 1);  // output_size: padding is still there
  const double value = pop_as<double>(s);
  const Tensor nested = pop(s).toTensor();
  s.emplace_back(nested.masked_fill(padding_of(nested).unsqueeze(-1), value));
}

// An encoder layer in evaluation, as nn.TransformerEncoderLayer's fast path calls it.
void encoder_layer(Stack& s) {
  const IValue mask_type = pop(s);
  std::optional<Tensor> mask = attention_mask(pop(s), mask_type);
  const Tensor bias2 = pop(s).toTensor(), weight2 = pop(s).toTensor(), bias1 = pop(s).toTensor(),
               weight1 = pop(s).toTensor();
  const Tensor norm_bias2 = pop(s).toTensor(), norm_weight2 = pop(s).toTensor(),
               norm_bias1 = pop(s).toTensor(), norm_weight1 = pop(s).toTensor();
  const double eps = pop_as<double>(s);
  const bool norm_first = pop_as<bool>(s), use_gelu = pop_as<bool>(s);
  AttentionWeights w;
  w.out_bias = pop(s).toTensor();
  w.out_weight = pop(s).toTensor();
  w.qkv_bias = pop(s).toTensor();
  w.qkv_weight = pop(s).toTensor();
  const int64_t heads = pop_as<int64_t>(s), embed = pop_as<int64_t>(s);
  Tensor x = pop(s).toTensor();
  const Tensor padding = padding_of(x);
  const bool nested = !mask && padding.any().item().to<bool>();
  if (nested) {
    x = x.masked_fill(padding.unsqueeze(-1), 0);
    mask = attention_mask(padding, int64_t{1});
  }
  const auto norm1 = [&](const Tensor& y) {
    return tenon::layer_norm(y, {embed}, norm_weight1, norm_bias1, eps);
  };
  const auto norm2 = [&](const Tensor& y) {
    return tenon::layer_norm(y, {embed}, norm_weight2, norm_bias2, eps);
  };
  const auto attention = [&](const Tensor& y) { return attend(y, y, y, heads, w, mask).values; };
  const auto feed_forward = [&](const Tensor& y) {
    const Tensor inner = tenon::linear(y, weight1, bias1);
    return tenon::linear(use_gelu ? tenon::gelu(inner) : inner.relu(), weight2, bias2);
  };
  if (norm_first) {
    x = x + attention(norm1(x));
    x = x + feed_forward(norm2(x));
  } else {
    x = norm1(x + attention(x));
    x = norm2(x + feed_forward(x));
  }
  s.emplace_back(nested ? nested_from_mask(x, padding.logical_not()) : std::move(x));
}

const HostOperator list[] = {
    {"aten::where(Tensor condition) -> Tensor[]", where},
    {"aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor",
     nested_tensor_from_mask},
    {"aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool", is_left_aligned},
    {"aten::to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor",
     to_padded_tensor},
    {"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, "
     "int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, "
     "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? "
     "mask_type=None) -> (Tensor, Tensor)",
     multi_head_attention},
    {"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor "
     "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool "
     "norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, "
     "Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor "
     "ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
     encoder_layer},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
