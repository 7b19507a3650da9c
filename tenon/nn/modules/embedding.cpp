// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/embedding.h"

#include <ostream>

#include "tenon/nn/functional/embedding.h"
#include "tenon/nn/init.h"
#include "tenon/nn/modules/shown_namespace.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

EmbeddingImpl::EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
    : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options_) : options(std::move(options_)) {
  EmbeddingImpl::reset();
}

namespace {

// Makes options.padding_idx() count from the first row.
template <class Options>
void wrap_padding_idx(const char* name, Options& options) {
  if (!options.padding_idx()) return;
  const int64_t rows = options.num_embeddings(), given = *options.padding_idx();
  TENON_CHECK(rows >= 0, ValueError, name, ": num_embeddings must not be negative, got ", rows);
  TENON_CHECK(given >= -rows && given < rows, ValueError, name, ": padding_idx must be within [",
              -rows, ", ", rows - 1, "], got ", given);
  if (given < 0) options.padding_idx(given + rows);
}

template <class Options>
void check_weight(const char* name, const Options& options) {
  const Tensor& given = options._weight();
  TENON_CHECK(given.dim() == 2 && given.size(0) == options.num_embeddings() &&
                  given.size(1) == options.embedding_dim(),
              ValueError, name, ": expected _weight of shape [", options.num_embeddings(), ", ",
              options.embedding_dim(), "], got ", given.sizes());
}

void draw_weight(Tensor& weight, std::optional<int64_t> padding) {
  init::normal_(weight);
  if (!padding) return;
  NoGradGuard no_grad;
  weight.select(0, *padding).zero_();
}

}  // namespace

void EmbeddingImpl::reset() {
  wrap_padding_idx("Embedding", options);
  if (!options._weight().defined()) {
    weight = register_parameter("weight",
                                tenon::empty({options.num_embeddings(), options.embedding_dim()}));
    reset_parameters();
    return;
  }
  check_weight("Embedding", options);
  weight = register_parameter("weight", options._weight());
}

void EmbeddingImpl::reset_parameters() { draw_weight(weight, options.padding_idx()); }

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "Embedding(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq())
    stream << ", scale_grad_by_freq=" << options.scale_grad_by_freq();
  if (options.sparse()) stream << ", sparse=" << options.sparse();
  stream << ")";
}

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  return functional::embedding(indices, weight,
                               functional::EmbeddingFuncOptions()
                                   .padding_idx(options.padding_idx())
                                   .max_norm(options.max_norm())
                                   .norm_type(options.norm_type())
                                   .scale_grad_by_freq(options.scale_grad_by_freq())
                                   .sparse(options.sparse()));
}

Embedding Embedding::from_pretrained(const Tensor& embeddings,
                                     const EmbeddingFromPretrainedOptions& options) {
  TENON_CHECK(embeddings.dim() == 2, ValueError,
              "Embedding::from_pretrained: expected 2-D embeddings, got ", embeddings.dim(), "-D");
  Embedding out(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                    ._weight(embeddings)
                    .padding_idx(options.padding_idx())
                    .max_norm(options.max_norm())
                    .norm_type(options.norm_type())
                    .scale_grad_by_freq(options.scale_grad_by_freq())
                    .sparse(options.sparse()));
  out->weight.set_requires_grad(!options.freeze());
  return out;
}

EmbeddingBagImpl::EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim)
    : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
EmbeddingBagImpl::EmbeddingBagImpl(EmbeddingBagOptions options_) : options(std::move(options_)) {
  EmbeddingBagImpl::reset();
}

void EmbeddingBagImpl::reset() {
  wrap_padding_idx("EmbeddingBag", options);
  if (!options._weight().defined()) {
    weight = register_parameter("weight",
                                tenon::empty({options.num_embeddings(), options.embedding_dim()}));
    reset_parameters();
    return;
  }
  check_weight("EmbeddingBag", options);
  weight = register_parameter("weight", options._weight());
}

void EmbeddingBagImpl::reset_parameters() { draw_weight(weight, options.padding_idx()); }

void EmbeddingBagImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << detail::shown_namespace()
         << "EmbeddingBag(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq())
    stream << ", scale_grad_by_freq=" << options.scale_grad_by_freq();
  if (options.sparse()) stream << ", sparse=" << options.sparse();
  const EmbeddingBagMode& mode = options.mode();
  if (!mode.is<enumtype::kMean>())
    stream << ", mode=" << (mode.is<enumtype::kSum>() ? "kSum" : "kMax");
  if (options.include_last_offset())
    stream << ", include_last_offset=" << options.include_last_offset();
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  stream << ")";
}

Tensor EmbeddingBagImpl::forward(const Tensor& input, const Tensor& offsets,
                                 const Tensor& per_sample_weights) {
  return functional::embedding_bag(input, weight,
                                   functional::EmbeddingBagFuncOptions()
                                       .offsets(offsets)
                                       .max_norm(options.max_norm())
                                       .norm_type(options.norm_type())
                                       .scale_grad_by_freq(options.scale_grad_by_freq())
                                       .mode(options.mode())
                                       .sparse(options.sparse())
                                       .per_sample_weights(per_sample_weights)
                                       .include_last_offset(options.include_last_offset())
                                       .padding_idx(options.padding_idx()));
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings,
                                           const EmbeddingBagFromPretrainedOptions& options) {
  TENON_CHECK(embeddings.dim() == 2, ValueError,
              "EmbeddingBag::from_pretrained: expected 2-D embeddings, got ", embeddings.dim(),
              "-D");
  EmbeddingBag out(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1))
                       ._weight(embeddings)
                       .max_norm(options.max_norm())
                       .norm_type(options.norm_type())
                       .scale_grad_by_freq(options.scale_grad_by_freq())
                       .mode(options.mode())
                       .sparse(options.sparse())
                       .include_last_offset(options.include_last_offset())
                       .padding_idx(options.padding_idx()));
  out->weight.set_requires_grad(!options.freeze());
  return out;
}

}  // namespace nn
}  // namespace tenon
