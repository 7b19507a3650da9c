// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/cloneable.h"
#include "tenon/nn/options/embedding.h"
#include "tenon/nn/pimpl.h"

namespace tenon {
namespace nn {

// A table of vectors looked up by int64 indices. Starts from N(0, 1), the padding row zero.
class TENON_API EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim);
  explicit EmbeddingImpl(EmbeddingOptions options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& indices);

  EmbeddingOptions options;
  Tensor weight;  // [num_embeddings, embedding_dim]
};

class TENON_API Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  // embeddings is [rows, length] and used without a copy.
  static Embedding from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

}  // namespace nn
}  // namespace tenon
