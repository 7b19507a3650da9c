// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Losses that are short sums of other operators.
#include <cmath>

#include "loss_common.h"
#include "tenon/nn/functional/loss.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {

namespace detail {

Tensor reduce(const Tensor& losses, enumtype::Reduction reduction) {
  switch (reduction.name()) {
    case enumtype::Name::Mean:
      return losses.mean();
    case enumtype::Name::Sum:
      return losses.sum();
    default:
      return losses;
  }
}

std::vector<Tensor> same_shape(const Tensor& input, const Tensor& target) {
  if (input.sizes() == target.sizes()) return {input, target};
  return tenon::broadcast_tensors({input, target});
}

}  // namespace detail

namespace functional {

using detail::reduce;

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& options) {
  Tensor loss = options.log_input() ? input.exp() - target * input : input - target * (input + options.eps()).log();
  if (options.full()) {
    const double two_pi = 6.283185307179586;
    const Tensor stirling = target * target.log() - target + (target * two_pi).log() * 0.5;
    loss = loss + tenon::where(target > 1, stirling, tenon::zeros_like(stirling));
  }
  return reduce(loss, options.reduction());
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNLLLossFuncOptions& options) {
  // var may leave out the last dimension or have size 1 there: one variance for a whole vector.
  Tensor variance = var;
  if (variance.sizes() != input.sizes() && variance.dim() == input.dim() - 1) variance = variance.unsqueeze(-1);
  Tensor limited = variance;
  {
    NoGradGuard no_grad;
    TENON_CHECK(!(variance < 0).any().item<bool>(), ValueError, "gaussian_nll_loss: var has negative entries");
    limited = variance.clone().clamp_min_(options.eps());
  }
  // The limit changes the value, not the gradient.
  variance = variance + (limited - variance.detach());
  const Tensor difference = input - target;
  Tensor loss = (variance.log() + difference * difference / variance) * 0.5;
  if (options.full()) loss = loss + 0.5 * std::log(6.283185307179586);
  return reduce(loss, options.reduction());
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& options) {
  const Tensor apart = (options.margin() - input).clamp_min(0);
  const Tensor zero = tenon::zeros_like(apart);
  const Tensor loss = tenon::where(target != 1, apart, zero) + tenon::where(target != -1, input, zero);
  return reduce(loss, options.reduction());
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& options) {
  TENON_CHECK(input.sizes() == target.sizes(), ValueError, "soft_margin_loss: size of target ", target.sizes(),
              " differs from size of input ", input.sizes());
  return reduce((-target * input).exp().log1p(), options.reduction());
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& options) {
  TENON_CHECK(options.p() == 1 || options.p() == 2, ValueError, "multi_margin_loss: invalid p: ", options.p(),
              "; only 1 and 2 are supported");
  TENON_CHECK(input.dim() == 1 || input.dim() == 2, ValueError, "multi_margin_loss: expected 1-D or 2-D input, got ",
              input.dim(), "-D");
  const bool single = input.dim() == 1;
  const Tensor x = single ? input.unsqueeze(0) : input;
  const Tensor index = target.reshape({-1, 1});
  TENON_CHECK(index.size(0) == x.size(0), ValueError, "multi_margin_loss: batch size of input (", x.size(0),
              ") and target (", index.size(0), ") differ");
  Tensor loss = (options.margin() - x.gather(1, index) + x).clamp_min(0);
  if (options.p() == 2) loss = loss * loss;
  if (options.weight().defined()) loss = loss * options.weight().index_select(0, index.reshape({-1})).unsqueeze(1);
  loss = loss * tenon::ones_like(loss).scatter(1, index, 0.0);
  loss = loss.sum(1) / x.size(1);
  return reduce(single ? loss.squeeze(0) : loss, options.reduction());
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options) {
  Tensor loss = -(target * tenon::log_sigmoid(input) + (1 - target) * tenon::log_sigmoid(-input));
  if (options.weight().defined()) loss = loss * options.weight();
  return reduce(loss.mean(-1), options.reduction());
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  TENON_CHECK(target.dim() + 1 == input1.dim() && input1.dim() == input2.dim(), ValueError,
              "cosine_embedding_loss: expected inputs with one dimension more than the target, got ", input1.sizes(),
              ", ", input2.sizes(), " and ", target.sizes());
  const double eps = 1e-12;
  const Tensor product = (input1 * input2).sum(-1);
  const Tensor squares1 = (input1 * input1).sum(-1) + eps;
  const Tensor squares2 = (input2 * input2).sum(-1) + eps;
  const Tensor cosine = product / (squares1 * squares2).sqrt();
  const Tensor zero = tenon::zeros_like(cosine);
  const Tensor loss = tenon::where(target == 1, 1 - cosine, zero) +
                      tenon::where(target == -1, (cosine - options.margin()).clamp_min(0), zero);
  return reduce(loss, options.reduction());
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options) {
  return reduce((-target * (input1 - input2) + options.margin()).clamp_min(0), options.reduction());
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options) {
  auto distance = [&](const Tensor& a, const Tensor& b) {
    return (a - b + options.eps()).norm(options.p(), {-1}, false);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap()) far = tenon::minimum(far, distance(positive, negative));
  return reduce((near - far + options.margin()).clamp_min(0), options.reduction());
}

}  // namespace functional

}  // namespace nn
}  // namespace tenon
