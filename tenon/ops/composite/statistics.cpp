// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Histograms, covariances and areas.
#include <algorithm>
#include <cmath>

#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;
using Histogram = std::tuple<Tensor, Tensor>;

void check_floating(const Tensor& self) {
  TENON_CHECK(isFloatingType(self.scalar_type()), NotImplementedError,
              "histogram: not implemented for dtype ", toString(self.scalar_type()),
              "; it takes floating");
}

Histogram count_between(const Tensor& self, const Tensor& edges, const OptTensor& weight,
                        bool density) {
  const OptTensor mass = weight ? OptTensor(weight->detach()) : std::nullopt;
  Tensor sums = tenon::_histogram(self.detach(), edges, mass);
  if (density) sums = sums / (edges.diff().to(kDouble) * sums.sum());
  return {sums.to(self.scalar_type()), edges};
}

// The part of y without its last, and without its first element.
std::pair<Tensor, Tensor> ends_of(const Tensor& y, int64_t dim) {
  const int64_t n = y.size(dim) - 1;
  return {y.narrow(dim, 0, n), y.narrow(dim, 1, n)};
}

// Distances of x as factors of sums along `dim` of y.
Tensor sample_distances(const char* name, const Tensor& y, const Tensor& x, int64_t dim) {
  if (x.dim() == 1 && y.dim() != 1) {
    TENON_CHECK(x.size(0) == y.size(dim), ValueError, name,
                ": There must be one `x` value for each sample point, got ", x.size(0), " for ",
                y.size(dim));
    std::vector<int64_t> shape(static_cast<std::size_t>(y.dim()), 1);
    shape[static_cast<std::size_t>(dim < 0 ? dim + y.dim() : dim)] = x.size(0);
    return x.reshape(shape).diff(1, dim);
  }
  if (x.dim() >= y.dim()) return x.diff(1, dim);
  std::vector<int64_t> shape(static_cast<std::size_t>(y.dim() - x.dim()), 1);
  shape.insert(shape.end(), x.sizes().begin(), x.sizes().end());
  return x.reshape(shape).diff(1, dim);
}

Tensor empty_along(const Tensor& y, int64_t dim) {
  return tenon::zeros_like(y.sum(dim, false, y.scalar_type()));
}

void check_weights(const char* which, const Tensor& w, int64_t observations) {
  TENON_CHECK(w.dim() <= 1, ValueError, "cov(): expected ", which,
              " to have one or fewer dimensions but got ", which, " with ", w.dim(), " dimensions");
  TENON_CHECK(w.numel() == observations, ValueError, "cov(): expected ", which,
              " to have the same numel as there are observations in the input but got ", w.numel(),
              " != ", observations);
  TENON_CHECK(observations == 0 || w.detach().min().item<double>() >= 0, ValueError,
              "cov(): ", which, " cannot be negative");
}

}  // namespace

Histogram histogram_bins_tensor(const Tensor& self, const Tensor& bins, const OptTensor& weight,
                                bool density) {
  check_floating(self);
  return count_between(self, bins.detach().contiguous(), weight, density);
}

Histogram histogram_bin_ct(const Tensor& self, int64_t bins, std::optional<ArrayRef<double>> range,
                           const OptTensor& weight, bool density) {
  check_floating(self);
  TENON_CHECK(bins > 0, ValueError, "histogram: bins must be > 0, but got ", bins);
  TENON_CHECK(!range || range->size() == 2, ValueError,
              "histogram: range should have 2 elements, but got ", range ? range->size() : 0);
  double low = 0, high = 1;
  if (range) {
    low = (*range)[0], high = (*range)[1];
  } else if (self.numel() > 0) {
    const auto [smallest, largest] = self.detach().aminmax();
    low = smallest.item<double>(), high = largest.item<double>();
  }
  TENON_CHECK(std::isfinite(low) && std::isfinite(high), ValueError, "histogram: range [", low,
              ", ", high, "] is not finite");
  TENON_CHECK(low <= high, ValueError, "histogram: min should not exceed max, but got min ", low,
              " max ", high);
  if (low == high) low -= 0.5, high += 0.5;
  return count_between(
      self,
      tenon::linspace(low, high, (core::Size(bins) + 1).get("histogram", "the number of edges"),
                      self.options().requires_grad(std::nullopt)),
      weight, density);
}

Tensor cov(const Tensor& self, int64_t correction, const OptTensor& fweights,
           const OptTensor& aweights) {
  TENON_CHECK(self.dim() <= 2, ValueError,
              "cov(): expected input to have two or fewer dimensions but got an input with ",
              self.dim(), " dimensions");
  TENON_CHECK(self.scalar_type() != kBool, TypeError,
              "cov(): bool dtype is not supported for input");
  const int64_t n = self.dim() < 2 ? self.numel() : self.size(1);
  const bool counted = fweights && fweights->defined(), analytic = aweights && aweights->defined();
  ScalarType result = isFloatingType(self.scalar_type()) || self.is_complex() ? self.scalar_type()
                                                                              : get_default_dtype();
  if (counted) {
    TENON_CHECK(isIntegralType(fweights->scalar_type(), false), TypeError,
                "cov(): expected fweights to have integral dtype but got fweights with ",
                toString(fweights->scalar_type()), " dtype");
    check_weights("fweights", *fweights, n);
  }
  if (analytic) {
    TENON_CHECK(isFloatingType(aweights->scalar_type()), TypeError,
                "cov(): expected aweights to have floating point dtype but got aweights with ",
                toString(aweights->scalar_type()), " dtype");
    check_weights("aweights", *aweights, n);
    result = tenon::promote_types(result, aweights->scalar_type());
  }
  // Gradients of weights are differences of sums.
  const ScalarType work = result == kComplexFloat ? kComplexDouble : wide(result);
  const Tensor rows = (self.dim() < 2 ? self.reshape({1, -1}) : self).to(work);
  if (!counted && !analytic) {
    const Tensor centered = rows - rows.sum(1, true) / n;
    const double freedom = std::max(0.0, static_cast<double>(n) - static_cast<double>(correction));
    return (centered.mm(tenon::conj(centered.t())) / freedom).squeeze().to(result);
  }
  Tensor w = counted ? fweights->reshape({-1}).to(work) : aweights->reshape({-1}).to(work);
  if (counted && analytic) w = w * aweights->reshape({-1}).to(work);
  const Tensor total = w.sum();
  TENON_CHECK(total.detach().item<double>() != 0, ValueError,
              "cov(): weights sum to zero, can't be normalized");
  const Tensor centered = rows - (rows * w).sum(1, true) / total;
  Tensor freedom = total - correction;
  if (analytic && correction != 0)
    freedom = total - correction * (w * aweights->reshape({-1}).to(work)).sum() / total;
  return (centered.mm(tenon::conj((centered * w).t())) / tenon::clamp_min(tenon::real(freedom), 0))
      .squeeze()
      .to(result);
}

Tensor corrcoef(const Tensor& self) {
  TENON_CHECK(self.dim() <= 2, ValueError,
              "corrcoef(): expected input to have two or fewer dimensions but got an input with ",
              self.dim(), " dimensions");
  const Tensor c = tenon::cov(wide(self));
  if (c.dim() == 0) return rounded(c / c, self);
  const Tensor deviation = tenon::real(c.diagonal()).sqrt();
  const Tensor r = c / deviation.unsqueeze(1) / deviation.unsqueeze(0);
  if (r.is_complex())
    return tenon::view_as_complex(tenon::clamp(tenon::view_as_real(r), -1, 1).contiguous());
  return rounded(tenon::clamp(r, -1, 1), self);
}

Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  if (y.size(dim) == 0) return empty_along(y, dim);
  const Tensor dx = sample_distances("trapezoid", y, x, dim);
  const auto [left, right] = ends_of(wide(y), dim);
  return rounded(((left + right) * wide(dx)).sum(dim) / 2.0, y, x);
}
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  if (y.size(dim) == 0) return empty_along(y, dim);
  // Halves of the ends are taken off, so that neighbors are added by the sum alone, in its wider
  // type.
  const Tensor x = wide(y), ends = x.select(dim, 0) + x.select(dim, -1);
  return rounded((x.sum(dim) - ends * 0.5) * dx.toDouble(), y);
}
Tensor trapz_x(const Tensor& y, const Tensor& x, int64_t dim) {
  return tenon::trapezoid(y, x, dim);
}
Tensor trapz_dx(const Tensor& y, double dx, int64_t dim) {
  return tenon::trapezoid(y, Scalar(dx), dim);
}

Tensor cumulative_trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  if (y.size(dim) == 0) return y.clone();
  const Tensor dx = sample_distances("cumulative_trapezoid", y, x, dim);
  const auto [left, right] = ends_of(wide(y), dim);
  return rounded(((left + right) * wide(dx)).cumsum(dim) / 2.0, y, x);
}
Tensor cumulative_trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  if (y.size(dim) == 0) return y.clone();
  const auto [left, right] = ends_of(wide(y), dim);
  return rounded(((left + right) * (dx.toDouble() / 2)).cumsum(dim), y);
}

}  // namespace tenon::composite
