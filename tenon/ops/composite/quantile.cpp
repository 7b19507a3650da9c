// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Quantiles: a sorted dimension, read at fractions of its length.
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

struct QuantileArgs {
  const char* name;
  std::optional<int64_t> dim;
  bool keepdim;
  std::string_view interpolation;
  bool ignore_nan;
};

void check_quantile(const QuantileArgs& how, const Tensor& self, const Tensor& q) {
  const std::string_view i = how.interpolation;
  TENON_CHECK(self.numel() > 0, ValueError, how.name, "() input tensor must be non-empty");
  TENON_CHECK(q.dim() <= 1, ValueError, how.name, "() q must be a scalar or 1D tensor, got ",
              q.dim(), " dimensions");
  TENON_CHECK(self.scalar_type() == kFloat || self.scalar_type() == kDouble, TypeError, how.name,
              "() input tensor must be either float or double dtype, got ",
              toString(self.scalar_type()));
  TENON_CHECK(q.scalar_type() == self.scalar_type(), TypeError, how.name,
              "() q tensor must be same dtype as the input tensor, got ", toString(q.scalar_type()),
              " and ", toString(self.scalar_type()));
  TENON_CHECK(
      i == "linear" || i == "lower" || i == "higher" || i == "midpoint" || i == "nearest",
      ValueError, how.name,
      "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", i);
  const Tensor inside = tenon::logical_and(q.detach() >= 0, q.detach() <= 1);
  TENON_CHECK(inside.all().item<bool>(), ValueError, how.name, "() q must be in the range [0, 1]");
}

// The positions of the fractions in `sorted`, whose last dimension they take.
Tensor fraction_positions(const QuantileArgs& how, const Tensor& sorted, const Tensor& q) {
  const int64_t last = sorted.size(-1) - 1;
  const Tensor nans = tenon::isnan(sorted.detach());
  if (how.ignore_nan) {
    const Tensor known = tenon::logical_not(nans).sum(-1, true).to(q.scalar_type());
    return q * tenon::clamp_min(known - 1, 0);
  }
  // NaN comes last in order: a slice with one answers with it.
  return tenon::where(nans.any(-1, true), last, q * last);
}

Tensor interpolate_at(const QuantileArgs& how, const Tensor& sorted, const Tensor& at) {
  if (how.interpolation == "lower") return sorted.gather(-1, at.floor().to(kLong));
  if (how.interpolation == "higher") return sorted.gather(-1, at.ceil().to(kLong));
  if (how.interpolation == "nearest") return sorted.gather(-1, at.round().to(kLong));
  const Tensor below = at.floor(), above = at.ceil();
  const Tensor low = sorted.gather(-1, below.detach().to(kLong)),
               high = sorted.gather(-1, above.detach().to(kLong));
  return how.interpolation == "midpoint" ? low.lerp(high, 0.5)
                                         : low.lerp(high, at - below.detach());
}

Tensor compute_quantile(const QuantileArgs& how, const Tensor& self, const Tensor& q) {
  check_quantile(how, self, q);
  const Tensor line = how.dim ? self.movedim(*how.dim, -1) : self.reshape({-1});
  const Tensor sorted = std::get<0>(tenon::sort(line.dim() ? line : line.reshape({1}), -1, false));
  Tensor out = interpolate_at(how, sorted, fraction_positions(how, sorted, q.reshape({-1})));
  // The fractions come first, or not at all if q is a scalar.
  if (how.keepdim && self.dim() > 0) {
    if (how.dim) {
      out = out.unsqueeze(*how.dim < 0 ? *how.dim - 1 : *how.dim);
    } else {
      std::vector<int64_t> ones(static_cast<std::size_t>(self.dim()), 1);
      ones.push_back(q.numel());
      out = out.reshape(ones);
    }
  }
  return q.dim() == 0 ? out.squeeze(-1) : out.movedim(-1, 0);
}

Tensor fraction_tensor(const Tensor& self, double q) {
  return tenon::scalar_tensor(q, self.options().requires_grad(std::nullopt));
}

}  // namespace

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return compute_quantile({"quantile", dim, keepdim, interpolation, false}, self, q);
}
Tensor quantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                       std::string_view interpolation) {
  return compute_quantile({"quantile", dim, keepdim, interpolation, false}, self,
                          fraction_tensor(self, q));
}
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return compute_quantile({"nanquantile", dim, keepdim, interpolation, true}, self, q);
}
Tensor nanquantile_scalar(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation) {
  return compute_quantile({"nanquantile", dim, keepdim, interpolation, true}, self,
                          fraction_tensor(self, q));
}

}  // namespace tenon::composite
