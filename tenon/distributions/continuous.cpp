// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "parameters.h"
#include "tenon/distributions.h"

namespace tenon::distributions {

namespace {

constexpr double kPi = 3.14159265358979323846;
const double kLogSqrt2Pi = 0.5 * std::log(2 * kPi);

}  // namespace

Normal::Normal(const Tensor& loc_in, const Tensor& scale_in) {
  broadcast(loc_in, scale_in, &loc, &scale);
  check_positive(scale, "Normal", "scale");
  batch_shape_ = loc.sizes().vec();
}
Tensor Normal::rsample(IntArrayRef sample_shape) const {
  return loc + randn(extended(sample_shape), loc.options().requires_grad(false)) * scale;
}
Tensor Normal::log_prob(const Tensor& value) const {
  return ((value - loc) / scale).pow(2) * -0.5 - scale.log() - kLogSqrt2Pi;
}
Tensor Normal::entropy() const { return scale.log() + (0.5 + kLogSqrt2Pi); }
Tensor Normal::variance() const { return scale.pow(2); }

Uniform::Uniform(const Tensor& low_in, const Tensor& high_in) {
  broadcast(low_in, high_in, &low, &high);
  check_parameter(low < high, "Uniform", "low", "less than high");
  batch_shape_ = low.sizes().vec();
}
Tensor Uniform::rsample(IntArrayRef sample_shape) const {
  return low + rand(extended(sample_shape), low.options().requires_grad(false)) * (high - low);
}
Tensor Uniform::log_prob(const Tensor& value) const {
  const Tensor inside = (value >= low).logical_and(value < high).to(low.scalar_type());
  return inside.log() - (high - low).log();
}
Tensor Uniform::entropy() const { return (high - low).log(); }
Tensor Uniform::mean() const { return (low + high) / 2; }
Tensor Uniform::variance() const { return (high - low).pow(2) / 12; }

Exponential::Exponential(const Tensor& rate_in) {
  rate = rate_in;
  check_positive(rate, "Exponential", "rate");
  batch_shape_ = rate.sizes().vec();
}
Tensor Exponential::rsample(IntArrayRef sample_shape) const {
  return empty(extended(sample_shape), rate.options().requires_grad(false)).exponential_() / rate;
}
Tensor Exponential::log_prob(const Tensor& value) const { return rate.log() - rate * value; }
Tensor Exponential::entropy() const { return 1 - rate.log(); }
Tensor Exponential::mean() const { return rate.reciprocal(); }
Tensor Exponential::variance() const { return rate.pow(-2); }

Gamma::Gamma(const Tensor& concentration_in, const Tensor& rate_in) {
  broadcast(concentration_in, rate_in, &concentration, &rate);
  check_positive(concentration, "Gamma", "concentration");
  check_positive(rate, "Gamma", "rate");
  batch_shape_ = rate.sizes().vec();
}
Tensor Gamma::rsample(IntArrayRef sample_shape) const {
  return tenon::_standard_gamma(concentration.expand(extended(sample_shape))) / rate;
}
Tensor Gamma::log_prob(const Tensor& value) const {
  return xlogy(concentration, rate) + xlogy(concentration - 1, value) - rate * value -
         lgamma(concentration);
}
Tensor Gamma::entropy() const {
  return concentration - rate.log() + lgamma(concentration) +
         (1 - concentration) * digamma(concentration);
}
Tensor Gamma::mean() const { return concentration / rate; }
Tensor Gamma::variance() const { return concentration / rate.pow(2); }

Dirichlet::Dirichlet(const Tensor& concentration_in) {
  concentration = concentration_in;
  TENON_CHECK(concentration.dim() > 0, ValueError,
              "Dirichlet: expected parameter concentration to have at least one dimension");
  check_positive(concentration, "Dirichlet", "concentration");
  batch_shape_ = concentration.sizes().vec();
  event_shape_ = {batch_shape_.back()};
  batch_shape_.pop_back();
}
Tensor Dirichlet::rsample(IntArrayRef sample_shape) const {
  return tenon::_sample_dirichlet(concentration.expand(extended(sample_shape)));
}
Tensor Dirichlet::log_prob(const Tensor& value) const {
  return xlogy(concentration - 1, value).sum(-1) + lgamma(concentration.sum(-1)) -
         lgamma(concentration).sum(-1);
}
Tensor Dirichlet::entropy() const {
  const Tensor total = concentration.sum(-1);
  const double k = static_cast<double>(event_shape_[0]);
  return lgamma(concentration).sum(-1) - lgamma(total) - (k - total) * digamma(total) -
         ((concentration - 1) * digamma(concentration)).sum(-1);
}
Tensor Dirichlet::mean() const { return concentration / concentration.sum({-1}, true); }
Tensor Dirichlet::variance() const {
  const Tensor total = concentration.sum({-1}, true);
  return concentration * (total - concentration) / (total.pow(2) * (total + 1));
}

namespace {

Tensor both_concentrations(const Tensor& a, const Tensor& b) {
  Tensor first, second;
  broadcast(a, b, &first, &second);
  return stack({first, second}, -1);
}

}  // namespace

Beta::Beta(const Tensor& concentration1_in, const Tensor& concentration0_in)
    : dirichlet_(both_concentrations(concentration1_in, concentration0_in)) {
  broadcast(concentration1_in, concentration0_in, &concentration1, &concentration0);
  batch_shape_ = dirichlet_.batch_shape();
}
Tensor Beta::rsample(IntArrayRef sample_shape) const {
  return dirichlet_.rsample(sample_shape).select(-1, 0);
}
Tensor Beta::log_prob(const Tensor& value) const {
  return dirichlet_.log_prob(stack({value, 1 - value}, -1));
}
Tensor Beta::entropy() const { return dirichlet_.entropy(); }
Tensor Beta::mean() const { return concentration1 / (concentration1 + concentration0); }
Tensor Beta::variance() const {
  const Tensor total = concentration1 + concentration0;
  return concentration1 * concentration0 / (total.pow(2) * (total + 1));
}

}  // namespace tenon::distributions
