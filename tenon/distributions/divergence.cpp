// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "parameters.h"
#include "tenon/distributions.h"

namespace tenon::distributions {

Tensor kl_divergence(const Normal& p, const Normal& q) {
  const Tensor ratio = (p.scale / q.scale).pow(2);
  return (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log()) * 0.5;
}

Tensor kl_divergence(const Uniform& p, const Uniform& q) {
  const Tensor outside = (q.low > p.low).logical_or(q.high < p.high);
  return ((q.high - q.low) / (p.high - p.low)).log().masked_fill(outside, kInfinity);
}

Tensor kl_divergence(const Bernoulli& p, const Bernoulli& q) {
  const Tensor ones = p.probs * (softplus(-q.logits) - softplus(-p.logits));
  const Tensor zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits));
  return ones.masked_fill(q.probs == 0, kInfinity).masked_fill(p.probs == 0, 0) +
         zeros.masked_fill(q.probs == 1, kInfinity).masked_fill(p.probs == 1, 0);
}

Tensor kl_divergence(const Categorical& p, const Categorical& q) {
  const Tensor each = p.probs * (p.logits - q.logits);
  return each.masked_fill(q.probs == 0, kInfinity).masked_fill(p.probs == 0, 0).sum(-1);
}

Tensor kl_divergence(const Exponential& p, const Exponential& q) {
  const Tensor ratio = q.rate / p.rate;
  return ratio - ratio.log() - 1;
}

Tensor kl_divergence(const Gamma& p, const Gamma& q) {
  return q.concentration * (p.rate / q.rate).log() + lgamma(q.concentration) -
         lgamma(p.concentration) + (p.concentration - q.concentration) * digamma(p.concentration) +
         (q.rate - p.rate) * (p.concentration / p.rate);
}

Tensor kl_divergence(const Dirichlet& p, const Dirichlet& q) {
  const Tensor total = p.concentration.sum(-1);
  const Tensor slopes = digamma(p.concentration) - digamma(total).unsqueeze(-1);
  return lgamma(total) - lgamma(q.concentration.sum(-1)) -
         (lgamma(p.concentration) - lgamma(q.concentration)).sum(-1) +
         ((p.concentration - q.concentration) * slopes).sum(-1);
}

Tensor kl_divergence(const Beta& p, const Beta& q) {
  return kl_divergence(p.dirichlet(), q.dirichlet());
}

}  // namespace tenon::distributions
