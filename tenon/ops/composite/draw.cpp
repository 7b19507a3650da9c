// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Distributions that need several random numbers for a value: inversion where it takes few steps,
// else rounds of proposals until each element has accepted one. Computed in double.
#include <cmath>
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/composite/write_list.h"
#include "tenon/ops/factory.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using Gen = std::optional<Generator>;

// An element accepts two of three proposals and more: no draw needs as many.
constexpr int kRounds = 1000;

// Uniform on (0, 1).
Tensor uniform_like(const Tensor& t, const Gen& g) {
  return tenon::empty_like(t).uniform_(0, 1, g).clamp_min(1e-300);
}
bool any_of(const Tensor& mask) { return mask.any().item<bool>(); }

// Counts from 0 by the recurrence p(k + 1) = p(k) * next(k), for those elements whose mean is
// small. `p0` is the probability of 0.
template <class F>
Tensor by_inversion(const Tensor& p0, const Gen& g, F&& next) {
  Tensor left = uniform_like(p0, g), p = p0, k = tenon::zeros_like(p0);
  for (int64_t i = 0; i < 1000; ++i) {
    const Tensor beyond = left.gt(p);
    if (!any_of(beyond)) break;
    left = tenon::where(beyond, left - p, left);
    p = tenon::where(beyond, p * next(k), p);
    k = k + beyond.to(kDouble);
  }
  return k;
}

// Counts of a distribution with this mean and spread by transformed rejection (Hoermann 1993);
// `log_ratio(k)` is the logarithm of its probability.
template <class F>
Tensor by_rejection(const Tensor& mean, const Tensor& a, const Tensor& b, const Tensor& inverse,
                    const Tensor& accept_at_once, double shift, const Gen& g, F&& log_density) {
  Tensor k = tenon::zeros_like(mean);
  Tensor open = mean.isfinite();
  for (int round = 0; round < kRounds && any_of(open); ++round) {
    const Tensor u = uniform_like(mean, g) - 0.5, v = uniform_like(mean, g);
    const Tensor edge = (0.5 - u.abs()).clamp_min(1e-300);
    const Tensor at = ((2 * a / edge + b) * u + mean + shift).floor();
    const Tensor quick = edge.ge(0.07).logical_and(v.le(accept_at_once));
    const Tensor slow =
        at.ge(0).logical_and((v * inverse / (a / (edge * edge) + b)).log().le(log_density(at)));
    const Tensor take = open.logical_and(quick.logical_or(slow)).logical_and(at.ge(0));
    k = tenon::where(take, at, k);
    open = open.logical_and(take.logical_not());
  }
  return k;
}

Tensor poisson_of(const Tensor& rate, const Gen& g) {
  const Tensor small = rate.lt(10), low = tenon::where(small, rate, 0),
               high = tenon::where(small, 10, rate);
  Tensor out = by_inversion(low.neg().exp(), g, [&](const Tensor& k) { return low / (k + 1); });
  if (any_of(small.logical_not())) {
    const Tensor b = 0.931 + 2.53 * high.sqrt(), a = -0.059 + 0.02483 * b;
    const Tensor inverse = 1.1239 + 1.1328 / (b - 3.4), at_once = 0.9277 - 3.6224 / (b - 2);
    const Tensor large = by_rejection(high, a, b, inverse, at_once, 0.43, g, [&](const Tensor& k) {
      return k * high.log() - high - (k.clamp_min(0) + 1).lgamma();
    });
    out = tenon::where(small, out, large);
  }
  return out;
}

// p at most 1/2
Tensor binomial_of(const Tensor& n, const Tensor& p, const Gen& g) {
  const Tensor q = 1 - p, odds = p / q, small = (n * p).lt(10);
  const Tensor few = tenon::where(small, n, 0);
  Tensor out = by_inversion((few * q.log()).exp(), g, [&](const Tensor& k) {
    return (few - k).clamp_min(0) / (k + 1) * odds;
  });
  if (any_of(small.logical_not())) {
    const Tensor many = tenon::where(small, 40, n), half = tenon::where(small, 0.5, p),
                 rest = 1 - half;
    const Tensor spread = (many * half * rest).sqrt(), b = 1.15 + 2.53 * spread;
    const Tensor a = -0.0873 + 0.0248 * b + 0.01 * half, at_once = 0.92 - 4.2 / b;
    const Tensor inverse = (2.83 + 5.1 / b) * spread, m = ((many + 1) * half).floor();
    const Tensor top = (m + 1).lgamma() + (many - m + 1).lgamma(), slope = (half / rest).log();
    const Tensor large =
        by_rejection(many * half, a, b, inverse, at_once, 0.5, g, [&](const Tensor& at) {
          const Tensor k = at.clamp_min(0).minimum(many);
          const Tensor value = top - (k + 1).lgamma() - (many - k + 1).lgamma() + (k - m) * slope;
          return value.masked_fill(at.gt(many), -INFINITY);
        });
    // A proposal above n is accepted at once only where its edge is wide; it is cut off.
    out = tenon::where(small, out, large.minimum(many));
  }
  return out;
}

// Marsaglia and Tsang 2000, for shapes below 1 by a power of a uniform number.
Tensor gamma_of(const Tensor& shape, const Gen& g) {
  const Tensor low = shape.lt(1), d = tenon::where(low, shape + 1, shape) - 1.0 / 3,
               c = (9 * d).rsqrt();
  Tensor out = tenon::zeros_like(shape), open = d.isfinite().logical_and(d.gt(0));
  for (int round = 0; round < kRounds && any_of(open); ++round) {
    const Tensor x = tenon::empty_like(shape).normal_(0, 1, g), u = uniform_like(shape, g);
    const Tensor root = 1 + c * x, v = root * root * root;
    const Tensor fits =
        root.gt(0).logical_and(u.log().lt(0.5 * x * x + d - d * v + d * v.clamp_min(1e-300).log()));
    out = tenon::where(open.logical_and(fits), d * v, out);
    open = open.logical_and(fits.logical_not());
  }
  return tenon::where(low, out * uniform_like(shape, g).pow(shape.reciprocal()), out);
}

// The slope of the gamma value x of shape a, at a fixed probability: - dF/da / dF/dx, by
// differences of the distribution function.
Tensor gamma_slope(const Tensor& a, const Tensor& x) {
  const Tensor h = a.clamp_min(1e-3) * 1e-4;
  const Tensor df = (tenon::igamma(a + h, x) - tenon::igamma(a - h, x)) / (2 * h);
  const Tensor density = ((a - 1) * x.log() - x - a.lgamma()).exp();
  return (df / density).neg();
}

// For x of a beta distribution with the shapes a and total - a: - dF/da / dF/dx / (1 - x), F the
// distribution function. F, or 1 - F above the mean, is an integral from x outwards, with the
// distance u from the logarithm of x, or of 1 - x, as the variable; its integrand relative to the
// density at x is summed at 129 points of an exp-sinh rule (Takahasi and Mori 1974).
Tensor beta_slope(const Tensor& x, const Tensor& a, const Tensor& total) {
  constexpr int kPoints = 64;
  constexpr double kStep = 1.0 / 16;
  const Tensor b = total - a, y = 1 - x, below = x.le(a / total);
  const Tensor p = tenon::where(below, a, b), q = tenon::where(below, b, a) - 1,
               s = tenon::where(below, x, y), odds = s / tenon::where(below, y, x);
  const Tensor slope_of_log = a.digamma() - total.digamma();
  // On which the integrand decays.
  const Tensor length =
      ((p - q * odds).clamp_min(0) + (q.abs() * odds * (1 + odds)).sqrt()).reciprocal();
  Tensor sum = tenon::zeros_like(s);
  for (int i = -kPoints; i <= kPoints; ++i) {
    const double t = i * kStep, w = std::exp(M_PI / 2 * std::sinh(t));
    const Tensor u = length * w, near = u.neg().exp();
    const Tensor density = (q * (odds * u.neg().expm1().neg()).log1p() - p * u).exp();
    const Tensor value = tenon::where(below, (slope_of_log - s.log() + u) * odds,
                                      (s * near).neg().log1p() - slope_of_log);
    sum = sum + density * value * length * (w * M_PI / 2 * std::cosh(t) * kStep);
  }
  return tenon::where(x.gt(0), sum, 0);
}

void check_floating(const char* op, const Tensor& t) {
  TENON_CHECK(isFloatingType(t.scalar_type()), TypeError, op, ": not implemented for dtype ",
              toString(t.scalar_type()), "; it takes floating");
}
void check_bounds(const char* op, double low, double high) {
  TENON_CHECK(std::isfinite(low) && std::isfinite(high), ValueError, op,
              ": bounds must be finite, got ", low, " and ", high);
  TENON_CHECK(low <= high, ValueError, op, ": Lower bound should be less than or equal to the ",
              "upper bound, got ", low, " and ", high);
}

}  // namespace

Tensor poisson(const Tensor& self, const Gen& g) {
  check_floating("poisson", self);
  const Tensor rate = self.detach().to(kDouble);
  TENON_CHECK(rate.numel() == 0 || rate.min().item<double>() >= 0, ValueError,
              "poisson: invalid Poisson rate, expected rate to be non-negative");
  if (rate.numel() == 0) return tenon::empty_like(self.detach());
  return poisson_of(rate, g).to(self.scalar_type());
}
Tensor binomial(const Tensor& count, const Tensor& prob, const Gen& g) {
  check_floating("binomial", count);
  const std::vector<Tensor> both =
      tenon::broadcast_tensors({count.detach().to(kDouble), prob.detach().to(kDouble)});
  const Tensor& n = both[0];
  const Tensor p = both[1].contiguous();
  if (n.numel() == 0) return tenon::empty(n.sizes(), plain(count.options()));
  TENON_CHECK(n.min().item<double>() >= 0, ValueError, "binomial: count must be non-negative, got ",
              n.min().item<double>());
  TENON_CHECK(p.min().item<double>() >= 0 && p.max().item<double>() <= 1, ValueError,
              "binomial: prob must be in [0, 1]");
  const Tensor flip = p.gt(0.5);
  const Tensor k = binomial_of(n.contiguous(), tenon::where(flip, 1 - p, p), g);
  return tenon::where(flip, n - k, k).to(count.scalar_type());
}

Tensor _standard_gamma(const Tensor& self, const Gen& g) {
  check_floating("_standard_gamma", self);
  Tensor value;
  {
    const NoGradGuard none;
    if (self.numel() == 0) {
      value = tenon::empty_like(self);
    } else {
      const double least = self.scalar_type() == kDouble ? 2.2250738585072014e-308 : 1.17549435e-38;
      value = gamma_of(self.to(kDouble), g).clamp_min(least).to(self.scalar_type());
    }
  }
  if (!self.requires_grad() || !GradMode::is_enabled()) return value;
  const Tensor slope = tenon::_standard_gamma_grad(self.detach(), value);
  return value + (self - self.detach()) * slope;
}
Tensor _standard_gamma_grad(const Tensor& self, const Tensor& output) {
  check_floating("_standard_gamma_grad", self);
  return gamma_slope(self.detach().to(kDouble), output.detach().to(kDouble)).to(self.scalar_type());
}
Tensor _dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  check_floating("_dirichlet_grad", x);
  const std::vector<Tensor> all = tenon::broadcast_tensors(
      {x.detach().to(kDouble), alpha.detach().to(kDouble), total.detach().to(kDouble)});
  return beta_slope(all[0], all[1], all[2]).to(x.scalar_type());
}
Tensor _sample_dirichlet(const Tensor& self, const Gen& g) {
  const Tensor parts = tenon::_standard_gamma(self, g);
  return parts / parts.sum(-1, true);
}

Tensor geometric(const Tensor& self, double p, const Gen& g) {
  TENON_CHECK(p > 0 && p < 1, ValueError, "geometric_: expects p to be in (0, 1), but got p=", p);
  const Tensor u =
      uniform_like(tenon::empty(self.sizes(), plain(self.options()).dtype(kDouble)), g);
  return (u.log() / std::log1p(-p)).ceil().clamp_min(1).to(self.scalar_type());
}
Tensor log_normal(const Tensor& self, double mean, double std, const Gen& g) {
  check_floating("log_normal", self);
  TENON_CHECK(std > 0, ValueError, "log_normal_: expects std > 0.0, but found std=", std);
  return tenon::empty_like(self.detach()).normal_(mean, std, g).exp();
}
Tensor cauchy(const Tensor& self, double median, double sigma, const Gen& g) {
  TENON_CHECK(sigma > 0, ValueError, "cauchy_: expects sigma > 0.0, but found sigma=", sigma);
  const Tensor u =
      uniform_like(tenon::empty(self.sizes(), plain(self.options()).dtype(kDouble)), g);
  return (median + sigma * (M_PI * (u - 0.5)).tan()).to(self.scalar_type());
}

Tensor empty_permuted(IntArrayRef size, IntArrayRef physical_layout, const TensorOptions& o) {
  const char* name = "empty_permuted";
  const std::size_t n = size.size();
  TENON_CHECK(physical_layout.size() == n, ValueError, name,
              ": Number of dimensions in size does not match the length of the physical_layout, ",
              n, " and ", physical_layout.size());
  std::vector<int64_t> strides(n, -1);
  core::Size step = 1;
  for (std::size_t i = n; i-- > 0;) {
    const int64_t d = physical_layout[i];
    TENON_CHECK(d >= 0 && d < static_cast<int64_t>(n) && strides[static_cast<std::size_t>(d)] < 0,
                ValueError, name, ": physical_layout ", physical_layout,
                " is not a permutation of the dimensions");
    strides[static_cast<std::size_t>(d)] = step.get(name, "the product of the sizes");
    step = step * std::max<int64_t>(size[static_cast<std::size_t>(d)], 1);
  }
  return tenon::empty_strided(size, strides, o);
}

Tensor rrelu_with_noise(const Tensor& self, const Tensor& noise, const Scalar& lower,
                        const Scalar& upper, bool training, const Gen& g) {
  const double low = lower.to<double>(), high = upper.to<double>();
  check_bounds("rrelu_with_noise", low, high);
  TENON_CHECK(noise.device() == self.device(), TypeError, "rrelu_with_noise: noise is on ",
              noise.device().str(), " and self on ", self.device().str());
  TENON_CHECK(
      noise.sizes() == self.sizes(), ValueError,
      "rrelu_with_noise: noise tensor shape must match self tensor shape. Got self.shape = ",
      self.sizes(), " noise.shape = ", noise.sizes());
  if (!training) return tenon::leaky_relu(self, (low + high) / 2);
  {
    const NoGradGuard unrecorded;
    const Tensor slopes = tenon::empty_like(self).uniform_(low, high, g);
    noise.copy_(tenon::where(self.le(0), slopes, tenon::ones_like(slopes)));
  }
  return self * noise.detach().clone();
}
Tensor rrelu_with_noise_(const Tensor& self, const Tensor& noise, const Scalar& lower,
                         const Scalar& upper, bool training, const Gen& g) {
  check_writable("rrelu_with_noise_", "self", {self});
  return self.copy_(tenon::rrelu_with_noise(self.clone(), noise, lower, upper, training, g));
}
Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
             const Gen& g) {
  check_bounds("rrelu", lower.to<double>(), upper.to<double>());
  return tenon::rrelu_with_noise(self, tenon::empty_like(self.detach()), lower, upper, training, g);
}

}  // namespace tenon::composite
