// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Losses of an input against a target of its own shape.
#include <cmath>

#include "tenon/core/error.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/reduction.h"

namespace tenon::composite {

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor d = self - target;
  return reduced("mse_loss", d * d, reduction);
}

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced("l1_loss", (self - target).abs(), reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TENON_CHECK(beta >= 0, ValueError, "smooth_l1_loss: beta must not be negative, got ", beta);
  if (beta == 0) return tenon::l1_loss(self, target, reduction);
  const Tensor z = (self - target).abs();
  return reduced("smooth_l1_loss", tenon::where(z < beta, z * z * (0.5 / beta), z - 0.5 * beta), reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TENON_CHECK(delta > 0, ValueError, "huber_loss: delta must be positive, got ", delta);
  const Tensor z = (self - target).abs();
  return reduced("huber_loss", tenon::where(z <= delta, z * z * 0.5, (z - 0.5 * delta) * delta), reduction);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                            int64_t reduction) {
  TENON_CHECK(self.sizes() == target.sizes(), ValueError, "binary_cross_entropy: input ", core::text(self.sizes()),
              " and target ", core::text(target.sizes()), " differ in shape");
  const Tensor one_log = tenon::clamp_min(tenon::log1p(-self), -100.0), self_log = tenon::clamp_min(self.log(), -100.0);
  Tensor loss = (target - 1) * one_log - target * self_log;
  if (weight && weight->defined()) loss = loss * *weight;
  return reduced("binary_cross_entropy", loss, reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight, int64_t reduction) {
  const Tensor log_sigmoid = tenon::log_sigmoid(self);
  Tensor loss;
  if (pos_weight && pos_weight->defined()) {
    loss = (1 - target) * self - ((*pos_weight - 1) * target + 1) * log_sigmoid;
  } else {
    loss = (1 - target) * self - log_sigmoid;
  }
  if (weight && weight->defined()) loss = loss * *weight;
  return reduced("binary_cross_entropy_with_logits", loss, reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  const Tensor loss = log_target ? target.exp() * (target - self) : tenon::xlogy(target, target) - target * self;
  return reduced("kl_div", loss, reduction);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin, int64_t reduction) {
  const Tensor zero = tenon::zeros_like(self);
  const Tensor apart = tenon::where(target != 1, tenon::clamp_min(margin - self, 0), zero);
  return reduced("hinge_embedding_loss", apart + tenon::where(target != -1, self, zero), reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           int64_t reduction) {
  TENON_CHECK(target.dim() == input1.dim() && target.dim() == input2.dim(), ValueError,
              "margin_ranking_loss: expected inputs and target with as many dimensions, got shapes ",
              core::text(input1.sizes()), ", ", core::text(input2.sizes()), ", ", core::text(target.sizes()));
  return reduced("margin_ranking_loss", tenon::clamp_min(-target * (input1 - input2) + margin, 0), reduction);
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  // softplus of -target * self, which does not overflow.
  return reduced("soft_margin_loss", -tenon::log_sigmoid(target * self), reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        int64_t reduction) {
  Tensor loss = log_input ? input.exp() - target * input : input - target * (input + eps).log();
  if (full) {
    const Tensor stirling = target * target.log() - target + 0.5 * (target * (2 * M_PI)).log();
    loss = loss + stirling.masked_fill(target <= 1, 0);
  }
  return reduced("poisson_nll_loss", loss, reduction);
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return tenon::norm(x1 - x2 + eps, p, {-1}, keepdim);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  TENON_CHECK(x1.is_floating_point() || x2.is_floating_point(), TypeError,
              "cosine_similarity: expected a floating dtype, got ", dtype_name(x1.scalar_type()));
  const ScalarType dtype = promote_types(x1.scalar_type(), x2.scalar_type());
  const auto pair = tenon::broadcast_tensors({x1.to(dtype), x2.to(dtype)});
  const auto unit = [&](const Tensor& x) {
    // The norm below eps is replaced, and has no gradient then.
    return x / tenon::clamp_min(tenon::norm(x, 2, {dim}, true), eps);
  };
  return (unit(pair[0]) * unit(pair[1])).sum({dim});
}

Tensor pdist(const Tensor& self, double p) {
  TENON_CHECK(self.dim() == 2, ValueError, "pdist: expected a 2-D tensor, got shape ", core::text(self.sizes()));
  TENON_CHECK(p >= 0, ValueError, "pdist: p must not be negative, got ", p);
  const int64_t n = self.size(0);
  const Tensor upper = tenon::triu_indices(n, n, 1, TensorOptions().dtype(kLong).device(self.device()));
  const Tensor d = self.index_select(0, upper.select(0, 0)) - self.index_select(0, upper.select(0, 1));
  return tenon::norm(d, p, {1}, false);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, int64_t reduction) {
  TENON_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(), ValueError,
              "triplet_margin_loss: expected anchor, positive and negative with as many dimensions, got shapes ",
              core::text(anchor.sizes()), ", ", core::text(positive.sizes()), ", ", core::text(negative.sizes()));
  const Tensor near = tenon::pairwise_distance(anchor, positive, p, eps);
  Tensor far = tenon::pairwise_distance(anchor, negative, p, eps);
  if (swap) far = tenon::minimum(far, tenon::pairwise_distance(positive, negative, p, eps));
  return reduced("triplet_margin_loss", tenon::clamp_min(near - far + margin, 0), reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             int64_t reduction) {
  TENON_CHECK(target.dim() <= 1 && input1.dim() == target.dim() + 1 && input2.dim() == target.dim() + 1, ValueError,
              "cosine_embedding_loss: expected inputs with one dimension more than a target of at most 1, got shapes ",
              core::text(input1.sizes()), ", ", core::text(input2.sizes()), ", ", core::text(target.sizes()));
  constexpr double kEpsilon = 1e-12;
  const auto dot = [](const Tensor& a, const Tensor& b) { return (a * b).sum({-1}); };
  const Tensor norms = (dot(input1, input1) + kEpsilon) * (dot(input2, input2) + kEpsilon);
  const Tensor cosine = dot(input1, input2) / norms.sqrt();
  const Tensor zero = tenon::zeros_like(cosine);
  const Tensor same = tenon::where(target == 1, 1 - cosine, zero);
  return reduced("cosine_embedding_loss", same + tenon::where(target == -1, tenon::clamp_min(cosine - margin, 0), zero),
                 reduction);
}

}  // namespace tenon::composite
