// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Probability distributions, as torch.distributions has them.
//
//   distributions::Normal policy(mean, stddev);
//   Tensor action = policy.rsample(), log_prob = policy.log_prob(action);
//
// Parameters are broadcast to the shape of the batch. A sample has the shape that is asked for, the
// batch's, and the event's, one after the other; the event of a vector (Dirichlet) is its last
// dimension. Parameters are checked when a distribution is made, which waits for their device:
// ValueError names the parameter and what it must be. All but sample() is differentiable.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/tensor.h"

namespace tenon::distributions {

class TENON_API Distribution {
 public:
  virtual ~Distribution();
  // A draw without gradient.
  Tensor sample(IntArrayRef sample_shape = {}) const;
  // A draw that is a differentiable function of the parameters. NotImplementedError where there is
  // none.
  virtual Tensor rsample(IntArrayRef sample_shape = {}) const;
  // The logarithm of the density, or of the probability of a discrete value; -inf outside of the
  // support where the formula shows it. Of the shape of the batch and what `value` has before.
  virtual Tensor log_prob(const Tensor& value) const = 0;
  virtual Tensor entropy() const = 0;  // in nats, of the shape of the batch
  virtual Tensor mean() const = 0;
  virtual Tensor variance() const = 0;
  const std::vector<int64_t>& batch_shape() const noexcept { return batch_shape_; }
  const std::vector<int64_t>& event_shape() const noexcept { return event_shape_; }

 protected:
  // Called without recording.
  virtual Tensor draw(IntArrayRef sample_shape) const;
  // The whole shape of such a sample.
  std::vector<int64_t> extended(IntArrayRef sample_shape) const;

  std::vector<int64_t> batch_shape_, event_shape_;
};

class TENON_API Normal : public Distribution {
 public:
  Normal(const Tensor& loc, const Tensor& scale);  // scale > 0, the standard deviation
  Tensor rsample(IntArrayRef sample_shape = {}) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override { return loc; }
  Tensor variance() const override;
  Tensor loc, scale;
};

// From low to high, without high.
class TENON_API Uniform : public Distribution {
 public:
  Uniform(const Tensor& low, const Tensor& high);  // low < high
  Tensor rsample(IntArrayRef sample_shape = {}) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor low, high;
};

// 1 with the probability, else 0. Values have the dtype of the parameter.
class TENON_API Bernoulli : public Distribution {
 public:
  explicit Bernoulli(const Tensor& probs);
  static Bernoulli from_logits(const Tensor& logits);
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override { return probs; }
  Tensor variance() const override;
  Tensor probs, logits;

 protected:
  Bernoulli() = default;
  Tensor draw(IntArrayRef sample_shape) const override;
};

// An int64 index into the last dimension of the parameter, which need not be normalized.
class TENON_API Categorical : public Distribution {
 public:
  explicit Categorical(const Tensor& probs);
  static Categorical from_logits(const Tensor& logits);
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;      // NaN: an index has none
  Tensor variance() const override;  // NaN
  // Normalized, [..., categories].
  Tensor probs, logits;

 protected:
  Categorical() = default;
  Tensor draw(IntArrayRef sample_shape) const override;
};

class TENON_API Exponential : public Distribution {
 public:
  explicit Exponential(const Tensor& rate);  // rate > 0
  Tensor rsample(IntArrayRef sample_shape = {}) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor rate;
};

class TENON_API Gamma : public Distribution {
 public:
  Gamma(const Tensor& concentration, const Tensor& rate);  // both > 0
  Tensor rsample(IntArrayRef sample_shape = {}) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor concentration, rate;
};

class TENON_API Dirichlet : public Distribution {
 public:
  explicit Dirichlet(const Tensor& concentration);  // [..., k], > 0
  Tensor rsample(IntArrayRef sample_shape = {}) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor concentration;
};

// The first of two parts of a Dirichlet.
class TENON_API Beta : public Distribution {
 public:
  Beta(const Tensor& concentration1, const Tensor& concentration0);  // both > 0
  Tensor rsample(IntArrayRef sample_shape = {}) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  const Dirichlet& dirichlet() const noexcept { return dirichlet_; }
  Tensor concentration1, concentration0;

 private:
  Dirichlet dirichlet_;
};

// The divergence of Kullback and Leibler from p to q, in nats, of the shape of the batches; inf
// where p has values that q has not.
TENON_API Tensor kl_divergence(const Normal& p, const Normal& q);
TENON_API Tensor kl_divergence(const Uniform& p, const Uniform& q);
TENON_API Tensor kl_divergence(const Bernoulli& p, const Bernoulli& q);
TENON_API Tensor kl_divergence(const Categorical& p, const Categorical& q);
TENON_API Tensor kl_divergence(const Exponential& p, const Exponential& q);
TENON_API Tensor kl_divergence(const Gamma& p, const Gamma& q);
TENON_API Tensor kl_divergence(const Dirichlet& p, const Dirichlet& q);
TENON_API Tensor kl_divergence(const Beta& p, const Beta& q);

}  // namespace tenon::distributions
