// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/loss.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

TENON_API Tensor l1_loss(const Tensor& input, const Tensor& target,
                         const L1LossFuncOptions& options = {});
TENON_API Tensor mse_loss(const Tensor& input, const Tensor& target,
                          const MSELossFuncOptions& options = {});
TENON_API Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                                const SmoothL1LossFuncOptions& options = {});
// beta must not be given in the options, too.
TENON_API Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                                const SmoothL1LossFuncOptions& options, double beta);
TENON_API Tensor huber_loss(const Tensor& input, const Tensor& target,
                            const HuberLossFuncOptions& options = {});
TENON_API Tensor nll_loss(const Tensor& input, const Tensor& target,
                          const NLLLossFuncOptions& options = {});
// The target holds class indices, or probabilities of the shape of the input.
TENON_API Tensor cross_entropy(const Tensor& input, const Tensor& target,
                               const CrossEntropyFuncOptions& options = {});
// The cross entropy of input [batch, features] times linear_weight [classes, d1, d2, ..,
// features], whose products are [batch, classes, d1, d2, ..]; an input may lack the batch where
// there is no d1.
TENON_API Tensor linear_cross_entropy(const Tensor& input, const Tensor& linear_weight,
                                      const Tensor& target,
                                      const LinearCrossEntropyFuncOptions& options = {});
TENON_API Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                                      const BinaryCrossEntropyFuncOptions& options = {});
TENON_API Tensor
binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                 const BinaryCrossEntropyWithLogitsFuncOptions& options = {});
TENON_API Tensor kl_div(const Tensor& input, const Tensor& target,
                        const KLDivFuncOptions& options = {});
TENON_API Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                                  const PoissonNLLLossFuncOptions& options = {});
TENON_API Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                                   const GaussianNLLLossFuncOptions& options = {});
TENON_API Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                                      const HingeEmbeddingLossFuncOptions& options = {});
TENON_API Tensor soft_margin_loss(const Tensor& input, const Tensor& target,
                                  const SoftMarginLossFuncOptions& options = {});
TENON_API Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultiMarginLossFuncOptions& options = {});
TENON_API Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                                        const MultilabelMarginLossFuncOptions& options = {});
TENON_API Tensor
multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                            const MultilabelSoftMarginLossFuncOptions& options = {});
// target is 1 or -1: whether the rows of the inputs should agree.
TENON_API Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2,
                                       const Tensor& target,
                                       const CosineEmbeddingLossFuncOptions& options = {});
TENON_API Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2,
                                     const Tensor& target,
                                     const MarginRankingLossFuncOptions& options = {});
TENON_API Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive,
                                     const Tensor& negative,
                                     const TripletMarginLossFuncOptions& options = {});
TENON_API Tensor triplet_margin_with_distance_loss(
    const Tensor& anchor, const Tensor& positive, const Tensor& negative,
    const TripletMarginWithDistanceLossFuncOptions& options = {});
// Connectionist temporal classification (Graves and others, 2006). log_probs is [time, batch,
// classes]; targets are integers, [batch, longest] or one after another; lengths are [batch].
TENON_API Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets,
                          const Tensor& input_lengths, const Tensor& target_lengths,
                          const CTCLossFuncOptions& options = {});

}  // namespace functional
}  // namespace nn
}  // namespace tenon
