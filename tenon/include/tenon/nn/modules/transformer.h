// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Encoders and decoders of several layers, and a whole transformer. Sequences are [time, batch,
// feature]; masks are those of functional::multi_head_attention_forward and may be undefined.
#pragma once

#include "tenon/nn/modules/containers.h"
#include "tenon/nn/modules/transformer_layer.h"

namespace tenon {
namespace nn {

struct TENON_API TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options,
                            int64_t num_layers);
  // The layer that is cloned.
  TENON_ARG(TransformerEncoderLayer, encoder_layer) = nullptr;
  // How often.
  TENON_ARG(int64_t, num_layers);
  // Normalizes the result of the last layer; may be empty.
  TENON_ARG(AnyModule, norm);
};

struct TENON_API TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options,
                            int64_t num_layers);
  // The layer that is cloned.
  TENON_ARG(TransformerDecoderLayer, decoder_layer) = nullptr;
  // How often.
  TENON_ARG(int64_t, num_layers);
  // Normalizes the result of the last layer; may be empty.
  TENON_ARG(AnyModule, norm);
};

class TENON_API TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers);
  explicit TransformerEncoderImpl(TransformerEncoderOptions options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& src_mask = {},
                 const Tensor& src_key_padding_mask = {});

  TransformerEncoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})
};
TENON_MODULE(TransformerEncoder);

class TENON_API TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers);
  explicit TransformerDecoderImpl(TransformerDecoderOptions options_);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});

  TransformerDecoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())},
                                 {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())})
};
TENON_MODULE(TransformerDecoder);

// Parameters of more than one dimension start by xavier_uniform_.
class TENON_API TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(TransformerOptions options_ = {});
  void reset() override;
  void reset_parameters();
  // src is [source, batch, d_model], tgt and the result are [target, batch, d_model].
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {},
                 const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& src_key_padding_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});
  // [sz, sz]: minus infinity above the diagonal, so that an element sees none that follow it; zero
  // elsewhere.
  static Tensor generate_square_subsequent_mask(int64_t sz);

  TransformerOptions options;
  AnyModule encoder;
  AnyModule decoder;

 protected:
  TENON_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())},
                                 {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())},
                                 {6, AnyValue(Tensor())}, {7, AnyValue(Tensor())})
};
TENON_MODULE(Transformer);

}  // namespace nn
}  // namespace tenon
