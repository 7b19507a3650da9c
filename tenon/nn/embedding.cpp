// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/modules/embedding.h"

#include <ostream>

#include "tenon/nn/functional/embedding.h"
#include "tenon/nn/init.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

EmbeddingImpl::EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
    : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options_) : options(std::move(options_)) { EmbeddingImpl::reset(); }

void EmbeddingImpl::reset() {
  if (options.padding_idx()) {
    const int64_t rows = options.num_embeddings(), given = *options.padding_idx();
    TENON_CHECK(given >= -rows && given < rows, ValueError, "Embedding: padding_idx must be within [", -rows, ", ",
                rows - 1, "], got ", given);
    if (given < 0) options.padding_idx(given + rows);
  }
  if (!options._weight().defined()) {
    weight = register_parameter("weight", tenon::empty({options.num_embeddings(), options.embedding_dim()}));
    reset_parameters();
    return;
  }
  const Tensor& given = options._weight();
  TENON_CHECK(given.dim() == 2 && given.size(0) == options.num_embeddings() && given.size(1) == options.embedding_dim(),
              ValueError, "Embedding: expected _weight of shape [", options.num_embeddings(), ", ",
              options.embedding_dim(), "], got ", given.sizes());
  weight = register_parameter("weight", given);
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  NoGradGuard no_grad;
  weight.select(0, *options.padding_idx()).zero_();
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  stream << std::boolalpha << "tenon::nn::Embedding(num_embeddings=" << options.num_embeddings()
         << ", embedding_dim=" << options.embedding_dim();
  if (options.padding_idx()) stream << ", padding_idx=" << *options.padding_idx();
  if (options.max_norm()) stream << ", max_norm=" << *options.max_norm();
  if (options.norm_type() != 2) stream << ", norm_type=" << options.norm_type();
  if (options.scale_grad_by_freq()) stream << ", scale_grad_by_freq=" << options.scale_grad_by_freq();
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

Embedding Embedding::from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options) {
  TENON_CHECK(embeddings.dim() == 2, ValueError, "Embedding::from_pretrained: expected 2-D embeddings, got ",
              embeddings.dim(), "-D");
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

}  // namespace nn
}  // namespace tenon
