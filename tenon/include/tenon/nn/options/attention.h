// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Arguments of functional::multi_head_attention_forward; the options of the module are in
// options/activation.h.
#pragma once

#include "tenon/arg.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads,
                                       Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k,
                                       Tensor bias_v, bool add_zero_attn, double dropout_p,
                                       Tensor out_proj_weight, Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}
  // The size that a query must have.
  TENON_ARG(int64_t, embed_dim_to_check);
  // Heads; they divide the size of a query.
  TENON_ARG(int64_t, num_heads);
  // The projections of query, key and value on top of each other, [3 * embed_dim, embed_dim].
  TENON_ARG(Tensor, in_proj_weight);
  // Their biases, [3 * embed_dim]; may be undefined.
  TENON_ARG(Tensor, in_proj_bias);
  // A key that is appended, [1, 1, embed_dim]; may be undefined.
  TENON_ARG(Tensor, bias_k);
  // Its value, [1, 1, embed_dim]; defined if bias_k is.
  TENON_ARG(Tensor, bias_v);
  // Whether a zero key and value are appended.
  TENON_ARG(bool, add_zero_attn);
  // Probability that a weight of the attention is dropped.
  TENON_ARG(double, dropout_p);
  // The projection of the result, [embed_dim, embed_dim].
  TENON_ARG(Tensor, out_proj_weight);
  // Its bias, [embed_dim]; may be undefined.
  TENON_ARG(Tensor, out_proj_bias);
  // Whether weights are dropped.
  TENON_ARG(bool, training) = true;
  // [batch, source], without a batch [source]; true leaves a key out; may be undefined.
  TENON_ARG(Tensor, key_padding_mask) = {};
  // Whether the weights of the attention are returned, too.
  TENON_ARG(bool, need_weights) = true;
  // [target, source] or [batch * heads, target, source]; a bool or byte mask leaves out where it is
  // true, another one is added to the products of queries and keys; may be undefined.
  TENON_ARG(Tensor, attn_mask) = {};
  // Whether the next three take the place of in_proj_weight.
  TENON_ARG(bool, use_separate_proj_weight) = false;
  // The projection of queries, [embed_dim, embed_dim].
  TENON_ARG(Tensor, q_proj_weight) = {};
  // The projection of keys, [embed_dim, key's size].
  TENON_ARG(Tensor, k_proj_weight) = {};
  // The projection of values, [embed_dim, value's size].
  TENON_ARG(Tensor, v_proj_weight) = {};
  // Keys that take the place of the projected ones, [batch * heads, source, embed_dim / heads].
  TENON_ARG(Tensor, static_k) = {};
  // Values that take the place of the projected ones, as static_k.
  TENON_ARG(Tensor, static_v) = {};
  // Whether the weights that are returned are means over the heads.
  TENON_ARG(bool, average_attn_weights) = true;
};

}  // namespace functional
}  // namespace nn
}  // namespace tenon
