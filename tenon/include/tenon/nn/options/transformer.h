// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Options of the layers of transformers (Vaswani and others, 2017) and of a whole transformer;
// those of encoders and decoders, which name layers, are in modules/transformer.h.
#pragma once

#include <variant>

#include "tenon/arg.h"
#include "tenon/enum.h"
#include "tenon/function_ref.h"
#include "tenon/nn/modules/any.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

namespace detail {
// What is applied between the two linear layers.
using TransformerActivation =
    std::variant<enumtype::kReLU, enumtype::kGELU, SharedFunction<Tensor(const Tensor&)>>;
}  // namespace detail

struct TransformerEncoderLayerOptions {
  using activation_t = detail::TransformerActivation;
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead)
      : d_model_(d_model), nhead_(nhead) {}
  // Features of an element of the sequence.
  TENON_ARG(int64_t, d_model);
  // Heads of the attention.
  TENON_ARG(int64_t, nhead);
  // Features between the two linear layers.
  TENON_ARG(int64_t, dim_feedforward) = 2048;
  // Probability of dropout.
  TENON_ARG(double, dropout) = 0.1;
  // kReLU, kGELU or a function of a tensor.
  TENON_ARG(activation_t, activation) = kReLU;
  // Whether batches come first: [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
  // Whether the input of each part is normalized, instead of its sum with the result.
  TENON_ARG(bool, norm_first) = false;
  // Whether linear layers and norms have biases.
  TENON_ARG(bool, bias) = true;
  // Added to the variance in norms.
  TENON_ARG(double, layer_norm_eps) = 1e-5;
};

struct TransformerDecoderLayerOptions {
  using activation_t = detail::TransformerActivation;
  TransformerDecoderLayerOptions(int64_t d_model, int64_t nhead)
      : d_model_(d_model), nhead_(nhead) {}
  // Features of an element of the sequence.
  TENON_ARG(int64_t, d_model);
  // Heads of the attention.
  TENON_ARG(int64_t, nhead);
  // Features between the two linear layers.
  TENON_ARG(int64_t, dim_feedforward) = 2048;
  // Probability of dropout.
  TENON_ARG(double, dropout) = 0.1;
  // kReLU, kGELU or a function of a tensor.
  TENON_ARG(activation_t, activation) = kReLU;
  // Whether batches come first: [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
  // Whether the input of each part is normalized, instead of its sum with the result.
  TENON_ARG(bool, norm_first) = false;
  // Whether linear layers and norms have biases.
  TENON_ARG(bool, bias) = true;
  // Added to the variance in norms.
  TENON_ARG(double, layer_norm_eps) = 1e-5;
};

struct TransformerOptions {
  using activation_t = detail::TransformerActivation;
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers,
                     int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  // Features of an element of the sequences.
  TENON_ARG(int64_t, d_model) = 512;
  // Heads of the attention.
  TENON_ARG(int64_t, nhead) = 8;
  // Layers of the encoder.
  TENON_ARG(int64_t, num_encoder_layers) = 6;
  // Layers of the decoder.
  TENON_ARG(int64_t, num_decoder_layers) = 6;
  // Features between the two linear layers of a layer.
  TENON_ARG(int64_t, dim_feedforward) = 2048;
  // Probability of dropout.
  TENON_ARG(double, dropout) = 0.1;
  // kReLU, kGELU or a function of a tensor.
  TENON_ARG(activation_t, activation) = kReLU;
  // Whether batches come first: [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
  // Whether the input of each part is normalized, instead of its sum with the result.
  TENON_ARG(bool, norm_first) = false;
  // Whether linear layers and norms have biases.
  TENON_ARG(bool, bias) = true;
  // Added to the variance in norms.
  TENON_ARG(double, layer_norm_eps) = 1e-5;
  // Takes the place of the encoder; forward(src, src_mask, src_key_padding_mask).
  TENON_ARG(AnyModule, custom_encoder);
  // Takes the place of the decoder; forward(tgt, memory, tgt_mask, memory_mask,
  // tgt_key_padding_mask, memory_key_padding_mask).
  TENON_ARG(AnyModule, custom_decoder);
};

}  // namespace nn
}  // namespace tenon
