// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/loss.h"

#include <algorithm>
#include <vector>

#include "loss_common.h"
#include "optional_tensor.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

using detail::reduce;
using detail::same_shape;
using enumtype::reduction_get_enum;

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  const auto both = same_shape(input, target);
  return tenon::l1_loss(both[0], both[1], reduction_get_enum(options.reduction()));
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  const auto both = same_shape(input, target);
  return tenon::mse_loss(both[0], both[1], reduction_get_enum(options.reduction()));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options) {
  const auto both = same_shape(input, target);
  const double beta = options.beta().value_or(1.0);
  TENON_CHECK(beta >= 0, ValueError, "smooth_l1_loss: invalid beta: ", beta);
  if (beta == 0) return tenon::l1_loss(both[0], both[1], reduction_get_enum(options.reduction()));
  return tenon::smooth_l1_loss(both[0], both[1], reduction_get_enum(options.reduction()), beta);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  const auto both = same_shape(input, target);
  return tenon::huber_loss(both[0], both[1], reduction_get_enum(options.reduction()), options.delta());
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  TENON_CHECK(input.dim() >= 1, ValueError, "nll_loss: expected 1-D or larger input, got 0-D");
  const int64_t batch = input.dim() == 1 ? 1 : input.size(0);
  const int64_t given = target.dim() == 0 ? 1 : target.size(0);
  TENON_CHECK(batch == given, ValueError, "nll_loss: batch size of input (", batch, ") and target (", given,
              ") differ");
  return tenon::nll_loss_nd(input, target, optional_tensor(options.weight()), reduction_get_enum(options.reduction()),
                            options.ignore_index());
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options) {
  return tenon::cross_entropy_loss(input, target, optional_tensor(options.weight()),
                                   reduction_get_enum(options.reduction()), options.ignore_index(),
                                   options.label_smoothing());
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& options) {
  TENON_CHECK(input.sizes() == target.sizes(), ValueError, "binary_cross_entropy: size of target ", target.sizes(),
              " differs from size of input ", input.sizes());
  Tensor weight = options.weight();
  if (weight.defined() && weight.sizes() != target.sizes()) weight = weight.expand(target.sizes());
  return tenon::binary_cross_entropy(input, target, optional_tensor(weight), reduction_get_enum(options.reduction()));
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  TENON_CHECK(input.sizes() == target.sizes(), ValueError, "binary_cross_entropy_with_logits: size of target ",
              target.sizes(), " differs from size of input ", input.sizes());
  return tenon::binary_cross_entropy_with_logits(input, target, optional_tensor(options.weight()),
                                                 optional_tensor(options.pos_weight()),
                                                 reduction_get_enum(options.reduction()));
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return tenon::multilabel_margin_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options) {
  if (!options.reduction().is<enumtype::kBatchMean>()) {
    const int64_t reduction =
        options.reduction().is<enumtype::kNone>() ? 0 : (options.reduction().is<enumtype::kMean>() ? 1 : 2);
    return tenon::kl_div(input, target, reduction, options.log_target());
  }
  const Tensor sum = tenon::kl_div(input, target, 2, options.log_target());
  return input.dim() == 0 ? sum : sum / input.size(0);
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
