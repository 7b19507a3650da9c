// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/modules/linear.h"
#include "tenon/nn/options/activation.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Attention in several heads; see functional::multi_head_attention_forward for the shapes. Weights
// start by xavier_uniform_, biases at zero, bias_k and bias_v by xavier_normal_.
class TENON_API MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads);
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options_);
  void reset() override;
  void _reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  // The result, and with need_weights the weights of the attention. Without them the call takes
  // less memory and time.
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {},
                                     bool average_attn_weights = true);

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = false;  // whether in_proj_weight takes the place of the next three
  Tensor in_proj_weight;             // [3 * embed_dim, embed_dim], or undefined
  Tensor q_proj_weight;              // [embed_dim, embed_dim], or undefined
  Tensor k_proj_weight;              // [embed_dim, kdim], or undefined
  Tensor v_proj_weight;              // [embed_dim, vdim], or undefined
  Tensor in_proj_bias;               // [3 * embed_dim], or undefined
  Linear out_proj = nullptr;
  Tensor bias_k;  // [1, 1, embed_dim], or undefined
  Tensor bias_v;
  int64_t head_dim = 0;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(Tensor())}, {4, AnyValue(true)},
                                 {5, AnyValue(Tensor())}, {6, AnyValue(true)})
};
TENON_MODULE(MultiheadAttention);

}  // namespace nn
}  // namespace tenon
