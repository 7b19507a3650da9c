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

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  // Rows of the table.
  TENON_ARG(int64_t, num_embeddings);
  // Length of a row.
  TENON_ARG(int64_t, embedding_dim);
  // A row that gets no gradient.
  TENON_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  // Rows longer than this, in norm_type, are shortened to it in place before the look-up.
  TENON_ARG(std::optional<double>, max_norm) = std::nullopt;
  // The p of the norm that max_norm limits.
  TENON_ARG(double, norm_type) = 2.0;
  // Whether gradients are divided by how often the row occurs in the batch.
  TENON_ARG(bool, scale_grad_by_freq) = false;
  // Whether the gradient of the weight is sparse.
  TENON_ARG(bool, sparse) = false;
  // The table to begin with, [num_embeddings, embedding_dim]; drawn from N(0, 1) if undefined.
  TENON_ARG(Tensor, _weight);
};

struct EmbeddingFromPretrainedOptions {
  // Whether the given weight is not trained.
  TENON_ARG(bool, freeze) = true;
  // A row that gets no gradient.
  TENON_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  // Rows longer than this, in norm_type, are shortened to it in place before the look-up.
  TENON_ARG(std::optional<double>, max_norm) = std::nullopt;
  // The p of the norm that max_norm limits.
  TENON_ARG(double, norm_type) = 2.0;
  // Whether gradients are divided by how often the row occurs in the batch.
  TENON_ARG(bool, scale_grad_by_freq) = false;
  // Whether the gradient of the weight is sparse.
  TENON_ARG(bool, sparse) = false;
};

struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  // Rows of the table.
  TENON_ARG(int64_t, num_embeddings);
  // Length of a row.
  TENON_ARG(int64_t, embedding_dim);
  // Rows longer than this, in norm_type, are shortened to it in place before the look-up.
  TENON_ARG(std::optional<double>, max_norm) = std::nullopt;
  // The p of the norm that max_norm limits.
  TENON_ARG(double, norm_type) = 2.0;
  // Whether gradients are divided by how often the row occurs in the batch.
  TENON_ARG(bool, scale_grad_by_freq) = false;
  // How the rows of a bag are reduced: kSum, kMean or kMax.
  TENON_ARG(EmbeddingBagMode, mode) = kMean;
  // Whether the gradient of the weight is sparse.
  TENON_ARG(bool, sparse) = false;
  // Whether offsets ends with the number of indices.
  TENON_ARG(bool, include_last_offset) = false;
  // A row that gets no gradient.
  TENON_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  // The table to begin with, [num_embeddings, embedding_dim]; drawn from N(0, 1) if undefined.
  TENON_ARG(Tensor, _weight);
};

struct EmbeddingBagFromPretrainedOptions {
  // Whether the given weight is not trained.
  TENON_ARG(bool, freeze) = true;
  // Rows longer than this, in norm_type, are shortened to it in place before the look-up.
  TENON_ARG(std::optional<double>, max_norm) = std::nullopt;
  // The p of the norm that max_norm limits.
  TENON_ARG(double, norm_type) = 2.0;
  // Whether gradients are divided by how often the row occurs in the batch.
  TENON_ARG(bool, scale_grad_by_freq) = false;
  // How the rows of a bag are reduced: kSum, kMean or kMax.
  TENON_ARG(EmbeddingBagMode, mode) = kMean;
  // Whether the gradient of the weight is sparse.
  TENON_ARG(bool, sparse) = false;
  // Whether offsets ends with the number of indices.
  TENON_ARG(bool, include_last_offset) = false;
  // A row that gets no gradient.
  TENON_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

namespace functional {
struct EmbeddingFuncOptions {
  // A row that gets no gradient.
  TENON_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  // Rows longer than this, in norm_type, are shortened to it in place before the look-up.
  TENON_ARG(std::optional<double>, max_norm) = std::nullopt;
  // The p of the norm that max_norm limits.
  TENON_ARG(double, norm_type) = 2.0;
  // Whether gradients are divided by how often the row occurs in the batch.
  TENON_ARG(bool, scale_grad_by_freq) = false;
  // Whether the gradient of the weight is sparse.
  TENON_ARG(bool, sparse) = false;
};

struct EmbeddingBagFuncOptions {
  // Where each bag starts in a 1-D input; undefined for a 2-D input, whose rows are the bags.
  TENON_ARG(Tensor, offsets);
  // Rows longer than this, in norm_type, are shortened to it in place before the look-up.
  TENON_ARG(std::optional<double>, max_norm) = std::nullopt;
  // The p of the norm that max_norm limits.
  TENON_ARG(double, norm_type) = 2.0;
  // Whether gradients are divided by how often the row occurs in the batch.
  TENON_ARG(bool, scale_grad_by_freq) = false;
  // How the rows of a bag are reduced: kSum, kMean or kMax.
  TENON_ARG(EmbeddingBagMode, mode) = kMean;
  // Whether the gradient of the weight is sparse.
  TENON_ARG(bool, sparse) = false;
  // A factor for each index; only with kSum.
  TENON_ARG(Tensor, per_sample_weights);
  // Whether offsets ends with the number of indices.
  TENON_ARG(bool, include_last_offset) = false;
  // A row that gets no gradient.
  TENON_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};
}  // namespace functional

}  // namespace nn
}  // namespace tenon
