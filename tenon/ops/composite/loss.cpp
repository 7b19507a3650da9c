// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Losses of an input against a target of its own shape.
#include <cmath>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/reduction.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

// A loss has the dtype of the one operand that libtorch computes it into, whatever the dtype of the
// other.
Tensor in_dtype_of(const Tensor& operand, const Tensor& loss) {
  return isFloatingType(operand.scalar_type()) ? as(loss, operand.scalar_type()) : loss;
}

}  // namespace

namespace {

// The parts of z up to a bound and beyond it. No gradient passes through a square of what lies
// beyond, which may be infinite.
std::pair<Tensor, Tensor> split_at(const Tensor& size, double bound) {
  const Tensor z = size.is_floating_point() ? size : size.to(get_default_dtype());
  const Tensor below = tenon::where(z > bound, bound, z);
  return {below, z - below};
}

Tensor clamped_entropy(const Tensor& self, const Tensor& target) {
  const Tensor one_log = tenon::clamp_min(tenon::log1p(-self), -100.0),
               self_log = tenon::clamp_min(self.log(), -100.0);
  return (target - 1) * one_log - target * self_log;
}

// The bounds of the logarithms have no slope: this has that of the function without them, held
// finite at 0 and 1.
struct BinaryCrossEntropy : autograd::Function<BinaryCrossEntropy> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& self, const Tensor& target) {
    ctx->save_for_backward({self, target});
    return clamped_entropy(self, target);
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          const autograd::variable_list& grads) {
    const autograd::variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &target = saved[1], &g = grads[0];
    Tensor by_self, by_target;
    if (ctx->needs_input_grad(0))
      by_self = g * ((x - target) / tenon::clamp_min(x * (1 - x), 1e-12));
    if (ctx->needs_input_grad(1)) by_target = g * (tenon::log1p(-x) - x.log());
    return {by_self, by_target};
  }
};

}  // namespace

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor d = wide(self) - wide(target);
  return rounded(reduced("mse_loss", d * d, reduction), self, target);
}

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return rounded(reduced("l1_loss", (wide(self) - wide(target)).abs(), reduction), self, target);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TENON_CHECK(beta >= 0, ValueError, "smooth_l1_loss: beta must not be negative, got ", beta);
  if (beta == 0) return tenon::l1_loss(self, target, reduction);
  const auto [below, above] = split_at((wide(self) - wide(target)).abs(), beta);
  return rounded(reduced("smooth_l1_loss", below * below * (0.5 / beta) + above, reduction), self,
                 target);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TENON_CHECK(delta > 0, ValueError, "huber_loss: delta must be positive, got ", delta);
  const auto [below, above] = split_at((wide(self) - wide(target)).abs(), delta);
  return in_dtype_of(self, reduced("huber_loss", below * below * 0.5 + above * delta, reduction));
}

namespace {

// The target in the shape of the input, where it has that but for dimensions of size 1, as torch
// has it: a column of outputs meets a vector of labels element by element, and is not broadcast to
// a square.
Tensor reshape_target(const char* op, const Tensor& target, const Tensor& input) {
  if (target.sizes() == input.sizes()) return target;
  const std::vector<int64_t> from = target.squeeze().sizes().vec(),
                             to = input.squeeze().sizes().vec();
  bool fits = from.size() <= to.size();
  for (std::size_t d = 1; fits && d <= from.size(); ++d)
    fits = from[from.size() - d] == to[to.size() - d];
  TENON_CHECK(fits, ValueError, op, ": input ", input.sizes(), " and target ", target.sizes(),
              " differ in shape");
  return target.squeeze().expand(to).reshape(input.sizes());
}

void check_shape(const char* op, const Tensor& loss, const char* what, const Tensor& given) {
  TENON_CHECK(loss.sizes() == given.sizes(), ValueError, op, ": the operands broadcast to ",
              loss.sizes(), ", which is not the shape of the ", what, ", ", given.sizes());
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target,
                            const std::optional<Tensor>& weight, int64_t reduction) {
  const Tensor x = wide(self), t = wide(reshape_target("binary_cross_entropy", target, self));
  const bool recorded = GradMode::is_enabled() && (x.requires_grad() || t.requires_grad());
  Tensor loss = recorded ? BinaryCrossEntropy::apply(x, t) : clamped_entropy(x, t);
  if (weight && weight->defined()) loss = loss * wide(*weight);
  check_shape("binary_cross_entropy", loss, "input", self);
  return in_dtype_of(self, reduced("binary_cross_entropy", loss, reduction));
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target,
                                        const std::optional<Tensor>& weight,
                                        const std::optional<Tensor>& pos_weight,
                                        int64_t reduction) {
  const Tensor x = wide(self), t = wide(target), log_sigmoid = tenon::log_sigmoid(x);
  Tensor loss;
  if (pos_weight && pos_weight->defined()) {
    loss = (1 - t) * x - ((wide(*pos_weight) - 1) * t + 1) * log_sigmoid;
  } else {
    loss = (1 - t) * x - log_sigmoid;
  }
  if (weight && weight->defined()) loss = loss * wide(*weight);
  check_shape("binary_cross_entropy_with_logits", loss, "target", target);
  return in_dtype_of(target, reduced("binary_cross_entropy_with_logits", loss, reduction));
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  const Tensor x = wide(self), t = wide(target);
  const Tensor loss = log_target ? t.exp() * (t - x) : tenon::xlogy(t, t) - t * x;
  return rounded(reduced("kl_div", loss, reduction), self, target);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin,
                            int64_t reduction) {
  const Tensor x = wide(self), zero = tenon::zeros_like(x);
  const Tensor apart = tenon::where(target != 1, tenon::clamp_min(margin - x, 0), zero);
  return rounded(
      reduced("hinge_embedding_loss", apart + tenon::where(target != -1, x, zero), reduction),
      self);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, int64_t reduction) {
  TENON_CHECK(
      target.dim() == input1.dim() && target.dim() == input2.dim(), ValueError,
      "margin_ranking_loss: expected inputs and target with as many dimensions, got shapes ",
      input1.sizes(), ", ", input2.sizes(), ", ", target.sizes());
  const Tensor loss = tenon::clamp_min(-wide(target) * (wide(input1) - wide(input2)) + margin, 0);
  const Tensor out = reduced("margin_ranking_loss", loss, reduction);
  const ScalarType inputs = promoted_type(input1, input2),
                   all = tenon::promote_types(inputs, target.scalar_type());
  return is_short_float(all) ? as(out, all) : out;
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  // softplus of -target * self, which does not overflow.
  const Tensor loss = -tenon::log_sigmoid(wide(target) * wide(self));
  return in_dtype_of(self, reduced("soft_margin_loss", loss, reduction));
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, int64_t reduction) {
  const Tensor x = wide(input), t = wide(target);
  Tensor loss = log_input ? x.exp() - t * x : x - t * (x + eps).log();
  if (full) {
    const Tensor stirling = t * t.log() - t + 0.5 * (t * (2 * M_PI)).log();
    loss = loss + stirling.masked_fill(t <= 1, 0);
  }
  const ScalarType of_target = full ? floating_result(target, target) : target.scalar_type();
  const ScalarType to = tenon::promote_types(floating_result(input, input), of_target);
  const Tensor out = reduced("poisson_nll_loss", loss, reduction);
  return is_short_float(to) ? as(out, to) : out;
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return rounded(tenon::norm(wide(x1) - wide(x2) + eps, p, {-1}, keepdim), x1, x2);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  TENON_CHECK(x1.is_floating_point() || x2.is_floating_point(), TypeError,
              "cosine_similarity: expected a floating dtype, got ", dtype_name(x1.scalar_type()));
  const ScalarType dtype = tenon::promote_types(x1.scalar_type(), x2.scalar_type());
  const auto pair = tenon::broadcast_tensors({x1.to(wide(dtype)), x2.to(wide(dtype))});
  const auto unit = [&](const Tensor& x) {
    // The norm below eps is replaced, and has no gradient then.
    return x / tenon::clamp_min(tenon::norm(x, 2, {dim}, true), eps);
  };
  return as((unit(pair[0]) * unit(pair[1])).sum({dim}), dtype);
}

Tensor pdist(const Tensor& self, double p) {
  TENON_CHECK(self.dim() == 2, ValueError, "pdist: expected a 2-D tensor, got shape ",
              self.sizes());
  TENON_CHECK(p >= 0, ValueError, "pdist: p must not be negative, got ", p);
  const int64_t n = self.size(0);
  const Tensor upper =
      tenon::triu_indices(n, n, 1, TensorOptions().dtype(kLong).device(self.device()));
  const Tensor d =
      self.index_select(0, upper.select(0, 0)) - self.index_select(0, upper.select(0, 1));
  return tenon::norm(d, p, {1}, false);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap, int64_t reduction) {
  TENON_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(), ValueError,
              "triplet_margin_loss: expected anchor, positive and negative with as many "
              "dimensions, got shapes ",
              anchor.sizes(), ", ", positive.sizes(), ", ", negative.sizes());
  const Tensor a = wide(anchor), same = wide(positive), other = wide(negative);
  const Tensor near = tenon::pairwise_distance(a, same, p, eps);
  Tensor far = tenon::pairwise_distance(a, other, p, eps);
  if (swap) far = tenon::minimum(far, tenon::pairwise_distance(same, other, p, eps));
  const Tensor out =
      reduced("triplet_margin_loss", tenon::clamp_min(near - far + margin, 0), reduction);
  ScalarType all =
      tenon::promote_types(floating_result(anchor, positive), floating_result(anchor, negative));
  if (swap) all = tenon::promote_types(all, floating_result(positive, negative));
  return is_short_float(all) ? as(out, all) : out;
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             double margin, int64_t reduction) {
  TENON_CHECK(
      target.dim() <= 1 && input1.dim() == target.dim() + 1 && input2.dim() == target.dim() + 1,
      ValueError,
      "cosine_embedding_loss: expected inputs with one dimension more than a target of at most 1, "
      "got shapes ",
      input1.sizes(), ", ", input2.sizes(), ", ", target.sizes());
  constexpr double kEpsilon = 1e-12;
  const auto dot = [](const Tensor& a, const Tensor& b) { return (a * b).sum({-1}); };
  const Tensor x = wide(input1), y = wide(input2);
  const Tensor norms = (dot(x, x) + kEpsilon) * (dot(y, y) + kEpsilon);
  const Tensor cosine = dot(x, y) / norms.sqrt();
  const Tensor zero = tenon::zeros_like(cosine);
  const Tensor same = tenon::where(target == 1, 1 - cosine, zero);
  const Tensor loss = same + tenon::where(target == -1, tenon::clamp_min(cosine - margin, 0), zero);
  const ScalarType all =
      tenon::promote_types(floating_result(input1, input1), floating_result(input2, input2));
  return is_short_float(all) ? as(reduced("cosine_embedding_loss", loss, reduction), all)
                             : reduced("cosine_embedding_loss", loss, reduction);
}

}  // namespace tenon::composite
