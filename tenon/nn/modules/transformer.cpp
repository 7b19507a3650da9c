// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/transformer.h"

#include <limits>
#include <utility>

#include "tenon/nn/init.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

namespace {

// clone() calls reset() on a copy that still shares the modules of its options; a module that
// `current` holds already is such a copy's, which then gets its own.
void separate(AnyModule& given, const AnyModule& current) {
  if (!given.is_empty() && !current.is_empty()) given = given.clone();
}

template <class Layer>
ModuleList clones(const Layer& layer, int64_t count) {
  TENON_CHECK(!layer.is_empty(), ValueError,
              "the layer of a transformer's encoder or decoder is "
              "empty");
  ModuleList out;
  for (int64_t i = 0; i < count; ++i) out->push_back(layer->clone());
  return out;
}

template <class Layer>
void reset_layers(const char* name, const char* kind, ModuleList& layers, int64_t count) {
  TENON_CHECK(static_cast<int64_t>(layers->size()) == count, ValueError, name, " should have ",
              count, " ", kind, " layers, but got ", layers->size());
  for (std::size_t i = 0; i < layers->size(); ++i) layers->template at<Layer>(i).reset_parameters();
}

}  // namespace

TransformerEncoderOptions::TransformerEncoderOptions(TransformerEncoderLayer encoder_layer,
                                                     int64_t num_layers)
    : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
TransformerEncoderOptions::TransformerEncoderOptions(
    const TransformerEncoderLayerOptions& encoder_layer_options, int64_t num_layers)
    : encoder_layer_(encoder_layer_options), num_layers_(num_layers) {}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderLayer encoder_layer,
                                               int64_t num_layers)
    : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}
TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions options_)
    : options(std::move(options_)) {
  TransformerEncoderImpl::reset();
}

void TransformerEncoderImpl::reset() {
  layers = register_module("layers", clones(options.encoder_layer(), options.num_layers()));
  separate(options.norm(), norm);
  norm = options.norm();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

void TransformerEncoderImpl::reset_parameters() {
  reset_layers<TransformerEncoderLayerImpl>("TransformerEncoder", "encoder", layers,
                                            options.num_layers());
}

Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask,
                                       const Tensor& src_key_padding_mask) {
  Tensor x = src;
  for (std::size_t i = 0; i < layers->size(); ++i)
    x = layers->at<TransformerEncoderLayerImpl>(i).forward(x, src_mask, src_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerDecoderOptions::TransformerDecoderOptions(TransformerDecoderLayer decoder_layer,
                                                     int64_t num_layers)
    : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
TransformerDecoderOptions::TransformerDecoderOptions(
    const TransformerDecoderLayerOptions& decoder_layer_options, int64_t num_layers)
    : decoder_layer_(decoder_layer_options), num_layers_(num_layers) {}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderLayer decoder_layer,
                                               int64_t num_layers)
    : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}
TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions options_)
    : options(std::move(options_)) {
  TransformerDecoderImpl::reset();
}

void TransformerDecoderImpl::reset() {
  layers = register_module("layers", clones(options.decoder_layer(), options.num_layers()));
  separate(options.norm(), norm);
  norm = options.norm();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

void TransformerDecoderImpl::reset_parameters() {
  reset_layers<TransformerDecoderLayerImpl>("TransformerDecoder", "decoder", layers,
                                            options.num_layers());
}

Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory,
                                       const Tensor& tgt_mask, const Tensor& memory_mask,
                                       const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask) {
  Tensor x = tgt;
  for (std::size_t i = 0; i < layers->size(); ++i)
    x = layers->at<TransformerDecoderLayerImpl>(i).forward(
        x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  return norm.is_empty() ? x : norm.forward(x);
}

TransformerImpl::TransformerImpl(TransformerOptions options_) : options(std::move(options_)) {
  TransformerImpl::reset();
}

void TransformerImpl::reset() {
  const auto& o = options;
  separate(options.custom_encoder(), encoder);
  separate(options.custom_decoder(), decoder);
  const auto layer = [&o](auto of) {
    return of.dim_feedforward(o.dim_feedforward())
        .dropout(o.dropout())
        .activation(o.activation())
        .batch_first(o.batch_first())
        .norm_first(o.norm_first())
        .bias(o.bias())
        .layer_norm_eps(o.layer_norm_eps());
  };
  const auto norm = LayerNormOptions({o.d_model()}).eps(o.layer_norm_eps()).bias(o.bias());
  encoder = o.custom_encoder();
  if (encoder.is_empty())
    encoder = AnyModule(TransformerEncoder(
        TransformerEncoderOptions(layer(TransformerEncoderLayerOptions(o.d_model(), o.nhead())),
                                  o.num_encoder_layers())
            .norm(AnyModule(LayerNorm(norm)))));
  register_module("encoder", encoder.ptr());
  decoder = o.custom_decoder();
  if (decoder.is_empty())
    decoder = AnyModule(TransformerDecoder(
        TransformerDecoderOptions(layer(TransformerDecoderLayerOptions(o.d_model(), o.nhead())),
                                  o.num_decoder_layers())
            .norm(AnyModule(LayerNorm(norm)))));
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const Tensor& p : parameters()) {
    if (p.dim() > 1) init::xavier_uniform_(p);
  }
}

Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask,
                                const Tensor& tgt_mask, const Tensor& memory_mask,
                                const Tensor& src_key_padding_mask,
                                const Tensor& tgt_key_padding_mask,
                                const Tensor& memory_key_padding_mask) {
  TENON_CHECK((src.dim() == 3 || src.dim() == 2) && src.dim() == tgt.dim(), ValueError,
              "src and tgt should have 3 dimensions, or 2 without a batch, but got ", src.dim(),
              " and ", tgt.dim());
  const int64_t batch = options.batch_first() ? 0 : 1;
  TENON_CHECK(src.dim() == 2 || src.size(batch) == tgt.size(batch), ValueError,
              "src and tgt should have equal batch size (at dim ", batch, "), but got ",
              src.size(batch), " and ", tgt.size(batch));
  TENON_CHECK(src.size(-1) == options.d_model() && tgt.size(-1) == options.d_model(), ValueError,
              "src and tgt should have same feature size as d_model (at dim ", src.dim() - 1,
              "), but got ", src.size(-1), " and ", tgt.size(-1), " while d_model is ",
              options.d_model());
  const Tensor memory = encoder.forward(src, src_mask, src_key_padding_mask);
  return decoder.forward(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                         memory_key_padding_mask);
}

Tensor TransformerImpl::generate_square_subsequent_mask(int64_t sz) {
  TENON_CHECK(sz >= 0, ValueError,
              "generate_square_subsequent_mask: the size must not be negative, got ", sz);
  return tenon::full({sz, sz}, -std::numeric_limits<double>::infinity()).triu(1);
}

}  // namespace nn
}  // namespace tenon
