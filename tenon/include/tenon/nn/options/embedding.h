// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tenon/arg.h"
#include "tenon/enum.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

using EmbeddingBagMode = enumtype::OneOf<enumtype::kSum, enumtype::kMean, enumtype::kMax>;

namespace detail {
// What the options of all look-ups in a table have in common.
template <class Options>
struct EmbeddingLookUpOptions {
  // A row that gets no gradient.
  TENON_ARG_OF(Options, std::optional<int64_t>, padding_idx) = std::nullopt;
  // Rows longer than this, in norm_type, are shortened to it in place before the look-up.
  TENON_ARG_OF(Options, std::optional<double>, max_norm) = std::nullopt;
  // The p of the norm that max_norm limits.
  TENON_ARG_OF(Options, double, norm_type) = 2.0;
  // Whether gradients are divided by how often the row occurs in the batch.
  TENON_ARG_OF(Options, bool, scale_grad_by_freq) = false;
  // Whether the gradient of the weight is sparse.
  TENON_ARG_OF(Options, bool, sparse) = false;
};

// What those of bags have besides.
template <class Options>
struct EmbeddingBagLookUpOptions : public EmbeddingLookUpOptions<Options> {
  // How the rows of a bag are reduced: kSum, kMean or kMax.
  TENON_ARG_OF(Options, EmbeddingBagMode, mode) = kMean;
  // Whether offsets ends with the number of indices.
  TENON_ARG_OF(Options, bool, include_last_offset) = false;
};
}  // namespace detail

struct EmbeddingOptions : public detail::EmbeddingLookUpOptions<EmbeddingOptions> {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  // Rows of the table.
  TENON_ARG(int64_t, num_embeddings);
  // Length of a row.
  TENON_ARG(int64_t, embedding_dim);
  // The table to begin with, [num_embeddings, embedding_dim]; drawn from N(0, 1) if undefined.
  TENON_ARG(Tensor, _weight);
};

struct EmbeddingFromPretrainedOptions
    : public detail::EmbeddingLookUpOptions<EmbeddingFromPretrainedOptions> {
  // Whether the given weight is not trained.
  TENON_ARG(bool, freeze) = true;
};

struct EmbeddingBagOptions : public detail::EmbeddingBagLookUpOptions<EmbeddingBagOptions> {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  // Rows of the table.
  TENON_ARG(int64_t, num_embeddings);
  // Length of a row.
  TENON_ARG(int64_t, embedding_dim);
  // The table to begin with, [num_embeddings, embedding_dim]; drawn from N(0, 1) if undefined.
  TENON_ARG(Tensor, _weight);
};

struct EmbeddingBagFromPretrainedOptions
    : public detail::EmbeddingBagLookUpOptions<EmbeddingBagFromPretrainedOptions> {
  // Whether the given weight is not trained.
  TENON_ARG(bool, freeze) = true;
};

namespace functional {
struct EmbeddingFuncOptions : public nn::detail::EmbeddingLookUpOptions<EmbeddingFuncOptions> {};

struct EmbeddingBagFuncOptions
    : public nn::detail::EmbeddingBagLookUpOptions<EmbeddingBagFuncOptions> {
  // Where each bag starts in a 1-D input; undefined for a 2-D input, whose rows are the bags.
  TENON_ARG(Tensor, offsets);
  // A factor for each index; only with kSum.
  TENON_ARG(Tensor, per_sample_weights);
};
}  // namespace functional

}  // namespace nn
}  // namespace tenon
