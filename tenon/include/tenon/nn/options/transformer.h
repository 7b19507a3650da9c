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
// What the options of layers and of a whole transformer have in common.
template <class Options>
struct TransformerLayerOptions {
  // What is applied between the two linear layers.
  using activation_t =
      std::variant<enumtype::kReLU, enumtype::kGELU, SharedFunction<Tensor(const Tensor&)>>;
  TransformerLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  // Features of an element of the sequences.
  TENON_ARG_OF(Options, int64_t, d_model);
  // Heads of the attention.
  TENON_ARG_OF(Options, int64_t, nhead);
  // Features between the two linear layers of a layer.
  TENON_ARG_OF(Options, int64_t, dim_feedforward) = 2048;
  // Probability of dropout.
  TENON_ARG_OF(Options, double, dropout) = 0.1;
  // kReLU, kGELU or a function of a tensor.
  TENON_ARG_OF(Options, activation_t, activation) = kReLU;
  // Whether batches come first: [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG_OF(Options, bool, batch_first) = false;
  // Whether the input of each part is normalized, instead of its sum with the result.
  TENON_ARG_OF(Options, bool, norm_first) = false;
  // Whether linear layers and norms have biases.
  TENON_ARG_OF(Options, bool, bias) = true;
  // Added to the variance in norms.
  TENON_ARG_OF(Options, double, layer_norm_eps) = 1e-5;
};
}  // namespace detail

struct TransformerEncoderLayerOptions
    : public detail::TransformerLayerOptions<TransformerEncoderLayerOptions> {
  using TransformerLayerOptions::TransformerLayerOptions;
};

struct TransformerDecoderLayerOptions
    : public detail::TransformerLayerOptions<TransformerDecoderLayerOptions> {
  using TransformerLayerOptions::TransformerLayerOptions;
};

struct TransformerOptions : public detail::TransformerLayerOptions<TransformerOptions> {
  TransformerOptions() : TransformerLayerOptions(512, 8) {}
  TransformerOptions(int64_t d_model, int64_t nhead) : TransformerLayerOptions(d_model, nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers,
                     int64_t num_decoder_layers)
      : TransformerLayerOptions(d_model, nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  // Layers of the encoder.
  TENON_ARG(int64_t, num_encoder_layers) = 6;
  // Layers of the decoder.
  TENON_ARG(int64_t, num_decoder_layers) = 6;
  // Takes the place of the encoder; forward(src, src_mask, src_key_padding_mask).
  TENON_ARG(AnyModule, custom_encoder);
  // Takes the place of the decoder; forward(tgt, memory, tgt_mask, memory_mask,
  // tgt_key_padding_mask, memory_key_padding_mask).
  TENON_ARG(AnyModule, custom_decoder);
};

}  // namespace nn
}  // namespace tenon
