// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// One layer of a transformer's encoder or decoder. Sequences are [time, batch, feature]; masks are
// those of functional::multi_head_attention_forward and may be undefined.
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/modules/any_value.h"
#include "tenon/nn/modules/attention.h"
#include "tenon/nn/modules/dropout.h"
#include "tenon/nn/modules/linear.h"
#include "tenon/nn/modules/normalization.h"
#include "tenon/nn/options/transformer.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// Self-attention, then two linear layers; each is added to its input and normalized.
class TENON_API TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& src_mask = {},
                 const Tensor& src_key_padding_mask = {});

  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr;
  LayerNorm norm2 = nullptr;
  Dropout dropout1 = nullptr;
  Dropout dropout2 = nullptr;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})
};
TENON_MODULE(TransformerEncoderLayer);

// Self-attention, attention to the encoder's result, then two linear layers; each is added to its
// input and normalized.
class TENON_API TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead);
  explicit TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});

  TransformerDecoderLayerOptions options;
  MultiheadAttention self_attn = nullptr;
  MultiheadAttention multihead_attn = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr;
  LayerNorm norm2 = nullptr;
  LayerNorm norm3 = nullptr;
  Dropout dropout1 = nullptr;
  Dropout dropout2 = nullptr;
  Dropout dropout3 = nullptr;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())},
                                 {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())})
};
TENON_MODULE(TransformerDecoderLayer);

}  // namespace nn
}  // namespace tenon
