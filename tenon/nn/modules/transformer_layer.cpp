// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/transformer_layer.h"

#include <utility>

#include "tenon/nn/functional/activation.h"

namespace tenon {
namespace nn {

namespace {

template <class Options>
Tensor activate(const Options& o, const Tensor& x) {
  const auto& activation = o.activation();
  if (std::holds_alternative<enumtype::kReLU>(activation)) return functional::relu(x);
  if (std::holds_alternative<enumtype::kGELU>(activation)) return functional::gelu(x);
  const auto& function = std::get<SharedFunction<Tensor(const Tensor&)>>(activation);
  TENON_CHECK(function, ValueError, "the activation of a transformer's layer is an empty function");
  return function(x);
}

template <class Options>
MultiheadAttention attention(const Options& o) {
  return MultiheadAttention(MultiheadAttentionOptions(o.d_model(), o.nhead())
                                .dropout(o.dropout())
                                .bias(o.bias())
                                .batch_first(o.batch_first()));
}
template <class Options>
Linear linear(const Options& o, int64_t from, int64_t to) {
  return Linear(LinearOptions(from, to).bias(o.bias()));
}
template <class Options>
LayerNorm norm(const Options& o) {
  return LayerNorm(LayerNormOptions({o.d_model()}).eps(o.layer_norm_eps()).bias(o.bias()));
}

// x and what a part makes of it.
template <class Options, class Part>
Tensor with_residual(const Options& o, LayerNorm& norm, const Tensor& x, Part part) {
  return o.norm_first() ? x + part(norm(x)) : norm(x + part(x));
}

// The weights of the attention are not wanted, so that no [target, source] tensor need be kept.
Tensor attend(MultiheadAttention& attention, const Tensor& query, const Tensor& key,
              const Tensor& padding, const Tensor& mask) {
  return std::get<0>(attention(query, key, key, padding, /*need_weights=*/false, mask));
}

}  // namespace

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
    : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options_)
    : options(std::move(options_)) {
  TransformerEncoderLayerImpl::reset();
}

void TransformerEncoderLayerImpl::reset() {
  const auto& o = options;
  self_attn = register_module("self_attn", attention(o));
  linear1 = register_module("linear1", linear(o, o.d_model(), o.dim_feedforward()));
  dropout = register_module("dropout", Dropout(o.dropout()));
  linear2 = register_module("linear2", linear(o, o.dim_feedforward(), o.d_model()));
  norm1 = register_module("norm1", norm(o));
  norm2 = register_module("norm2", norm(o));
  dropout1 = register_module("dropout1", Dropout(o.dropout()));
  dropout2 = register_module("dropout2", Dropout(o.dropout()));
}

void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
}

Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                            const Tensor& src_key_padding_mask) {
  const Tensor x = with_residual(options, norm1, src, [&](const Tensor& t) {
    return dropout1(attend(self_attn, t, t, src_key_padding_mask, src_mask));
  });
  return with_residual(options, norm2, x, [&](const Tensor& t) {
    return dropout2(linear2(dropout(activate(options, linear1(t)))));
  });
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
    : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options_)
    : options(std::move(options_)) {
  TransformerDecoderLayerImpl::reset();
}

void TransformerDecoderLayerImpl::reset() {
  const auto& o = options;
  self_attn = register_module("self_attn", attention(o));
  multihead_attn = register_module("multihead_attn", attention(o));
  linear1 = register_module("linear1", linear(o, o.d_model(), o.dim_feedforward()));
  dropout = register_module("dropout", Dropout(o.dropout()));
  linear2 = register_module("linear2", linear(o, o.dim_feedforward(), o.d_model()));
  norm1 = register_module("norm1", norm(o));
  norm2 = register_module("norm2", norm(o));
  norm3 = register_module("norm3", norm(o));
  dropout1 = register_module("dropout1", Dropout(o.dropout()));
  dropout2 = register_module("dropout2", Dropout(o.dropout()));
  dropout3 = register_module("dropout3", Dropout(o.dropout()));
}

void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  multihead_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
  norm3->reset_parameters();
}

Tensor TransformerDecoderLayerImpl::forward(const Tensor& tgt, const Tensor& memory,
                                            const Tensor& tgt_mask, const Tensor& memory_mask,
                                            const Tensor& tgt_key_padding_mask,
                                            const Tensor& memory_key_padding_mask) {
  const Tensor x = with_residual(options, norm1, tgt, [&](const Tensor& t) {
    return dropout1(attend(self_attn, t, t, tgt_key_padding_mask, tgt_mask));
  });
  const Tensor y = with_residual(options, norm2, x, [&](const Tensor& t) {
    return dropout2(attend(multihead_attn, t, memory, memory_key_padding_mask, memory_mask));
  });
  return with_residual(options, norm3, y, [&](const Tensor& t) {
    return dropout3(linear2(dropout(activate(options, linear1(t)))));
  });
}

}  // namespace nn
}  // namespace tenon
