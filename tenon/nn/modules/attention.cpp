// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/attention.h"

#include <ostream>

#include "tenon/nn/functional/attention.h"
#include "tenon/nn/init.h"
#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

MultiheadAttentionImpl::MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
    : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options_)
    : options(options_) {
  MultiheadAttentionImpl::reset();
}

void MultiheadAttentionImpl::reset() {
  const int64_t e = options.embed_dim();
  TENON_CHECK(options.num_heads() > 0 && e % options.num_heads() == 0, ValueError,
              "embed_dim must be divisible by num_heads");
  head_dim = e / options.num_heads();
  _qkv_same_embed_dim = options.kdim() == e && options.vdim() == e;
  if (_qkv_same_embed_dim) {
    in_proj_weight = register_parameter("in_proj_weight", tenon::empty({3 * e, e}));
  } else {
    q_proj_weight = register_parameter("q_proj_weight", tenon::empty({e, e}));
    k_proj_weight = register_parameter("k_proj_weight", tenon::empty({e, options.kdim()}));
    v_proj_weight = register_parameter("v_proj_weight", tenon::empty({e, options.vdim()}));
  }
  in_proj_bias = options.bias() ? register_parameter("in_proj_bias", tenon::empty({3 * e}))
                                : register_parameter("in_proj_bias", {}, false);
  out_proj = register_module("out_proj", Linear(LinearOptions(e, e).bias(options.bias())));
  if (options.add_bias_kv()) {
    bias_k = register_parameter("bias_k", tenon::empty({1, 1, e}));
    bias_v = register_parameter("bias_v", tenon::empty({1, 1, e}));
  }
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  if (_qkv_same_embed_dim) {
    init::xavier_uniform_(in_proj_weight);
  } else {
    init::xavier_uniform_(q_proj_weight);
    init::xavier_uniform_(k_proj_weight);
    init::xavier_uniform_(v_proj_weight);
  }
  if (in_proj_bias.defined()) {
    init::constant_(in_proj_bias, 0);
    init::constant_(out_proj->bias, 0);
  }
  if (bias_k.defined()) init::xavier_normal_(bias_k);
  if (bias_v.defined()) init::xavier_normal_(bias_v);
}

void MultiheadAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << detail::shown_namespace() << "MultiheadAttention";
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& key_padding_mask,
    bool need_weights, const Tensor& attn_mask, bool average_attn_weights) {
  functional::MultiheadAttentionForwardFuncOptions call(
      options.embed_dim(), options.num_heads(), in_proj_weight, in_proj_bias, bias_k, bias_v,
      options.add_zero_attn(), options.dropout(), out_proj->weight, out_proj->bias);
  call.training(is_training())
      .key_padding_mask(key_padding_mask)
      .need_weights(need_weights)
      .attn_mask(attn_mask)
      .average_attn_weights(average_attn_weights);
  if (!_qkv_same_embed_dim) {
    call.use_separate_proj_weight(true)
        .q_proj_weight(q_proj_weight)
        .k_proj_weight(k_proj_weight)
        .v_proj_weight(v_proj_weight);
  }
  if (!options.batch_first() || query.dim() != 3)
    return functional::multi_head_attention_forward(query, key, value, call);
  // One tensor stays one, so that it is projected once.
  const auto time_first = [](const Tensor& t) { return t.dim() == 3 ? t.transpose(0, 1) : t; };
  const Tensor q = time_first(query), k = key.is_same(query) ? q : time_first(key),
               v = value.is_same(key) ? k : time_first(value);
  const auto [out, weights] = functional::multi_head_attention_forward(q, k, v, call);
  return {out.transpose(0, 1), weights};
}

}  // namespace nn
}  // namespace tenon
