// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "parameters.h"
#include "tenon/distributions.h"

namespace tenon::distributions {
namespace {

// Keeps logarithms of probabilities finite, by the dtype's precision.
Tensor away_from_ends(const Tensor& probs) {
  const double epsilon = probs.scalar_type() == kDouble ? std::numeric_limits<double>::epsilon()
                                                        : std::numeric_limits<float>::epsilon();
  return probs.clamp(epsilon, 1 - epsilon);
}

}  // namespace

Distribution::~Distribution() = default;

Tensor Distribution::sample(IntArrayRef sample_shape) const {
  NoGradGuard no_grad;
  return draw(sample_shape);
}
Tensor Distribution::draw(IntArrayRef sample_shape) const { return rsample(sample_shape); }
Tensor Distribution::rsample(IntArrayRef) const {
  throw NotImplementedError("rsample: a discrete distribution has no draw with a gradient");
}
std::vector<int64_t> Distribution::extended(IntArrayRef sample_shape) const {
  std::vector<int64_t> out = sample_shape.vec();
  out.insert(out.end(), batch_shape_.begin(), batch_shape_.end());
  out.insert(out.end(), event_shape_.begin(), event_shape_.end());
  return out;
}

Bernoulli::Bernoulli(const Tensor& probs_in) {
  probs = probs_in;
  check_parameter((probs >= 0).logical_and(probs <= 1), "Bernoulli", "probs", "from 0 to 1");
  const Tensor inner = away_from_ends(probs);
  logits = inner.log() - (-inner).log1p();
  batch_shape_ = probs.sizes().vec();
}
Bernoulli Bernoulli::from_logits(const Tensor& logits) {
  Bernoulli out;
  check_parameter(logits == logits, "Bernoulli", "logits", "a number");
  out.logits = logits;
  out.probs = logits.sigmoid();
  out.batch_shape_ = logits.sizes().vec();
  return out;
}
Tensor Bernoulli::draw(IntArrayRef sample_shape) const {
  return probs.expand(extended(sample_shape)).bernoulli();
}
Tensor Bernoulli::log_prob(const Tensor& value) const {
  const std::vector<Tensor> both = broadcast_tensors({logits, value.to(logits.scalar_type())});
  return -binary_cross_entropy_with_logits(both[0], both[1], {}, {}, Reduction::None);
}
Tensor Bernoulli::entropy() const {
  return binary_cross_entropy_with_logits(logits, probs, {}, {}, Reduction::None);
}
Tensor Bernoulli::variance() const { return probs * (1 - probs); }

Categorical::Categorical(const Tensor& probs_in) {
  TENON_CHECK(probs_in.dim() > 0, ValueError,
              "Categorical: expected parameter probs to have at least one dimension");
  check_parameter((probs_in >= 0).all(-1).logical_and(probs_in.sum(-1) > 0), "Categorical", "probs",
                  "not negative, with a positive sum");
  probs = probs_in / probs_in.sum({-1}, true);
  logits = away_from_ends(probs).log();
  batch_shape_ = probs.sizes().vec();
  batch_shape_.pop_back();
}
Categorical Categorical::from_logits(const Tensor& logits) {
  TENON_CHECK(logits.dim() > 0, ValueError,
              "Categorical: expected parameter logits to have at least one dimension");
  check_parameter(logits == logits, "Categorical", "logits", "a number");
  Categorical out;
  out.logits = logits - logits.logsumexp({-1}, true);
  out.probs = out.logits.softmax(-1);
  out.batch_shape_ = logits.sizes().vec();
  out.batch_shape_.pop_back();
  return out;
}
Tensor Categorical::draw(IntArrayRef sample_shape) const {
  const std::vector<int64_t> shape = extended(sample_shape);
  const int64_t categories = probs.size(-1);
  std::vector<int64_t> whole = shape;
  whole.push_back(categories);
  const Tensor rows = probs.expand(whole).reshape({-1, categories});
  return rows.multinomial(1, true).reshape(shape);
}
Tensor Categorical::log_prob(const Tensor& value) const {
  const Tensor index = value.to(kLong).unsqueeze(-1);
  const Tensor none = zeros({1}, index.options()).expand(logits.sizes());
  std::vector<int64_t> shape = broadcast_tensors({index, none})[0].sizes().vec();
  const Tensor all = logits.expand(shape);
  shape.back() = 1;
  return all.gather(-1, index.expand(shape)).squeeze(-1);
}
Tensor Categorical::entropy() const {
  const double lowest = logits.scalar_type() == kDouble ? std::numeric_limits<double>::lowest()
                                                        : std::numeric_limits<float>::lowest();
  return -(logits.clamp_min(lowest) * probs).sum(-1);
}
Tensor Categorical::mean() const { return probs.select(-1, 0) * std::nan(""); }
Tensor Categorical::variance() const { return mean(); }

}  // namespace tenon::distributions
