// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Counts of points in the cells of a grid.
#include <cmath>
#include <vector>

#include "tenon/autograd/mode.h"
#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;
using Range = std::optional<ArrayRef<double>>;
using WithEdges = std::tuple<Tensor, std::vector<Tensor>>;

int64_t check_points(const Tensor& self, std::size_t bins, const OptTensor& weight) {
  const char* name = "histogramdd";
  TENON_CHECK(isFloatingType(self.scalar_type()), NotImplementedError, name,
              ": not implemented for dtype ", toString(self.scalar_type()));
  TENON_CHECK(self.dim() >= 2, ValueError, name,
              ": input tensor should have at least 2 dimensions, but got ", self.dim());
  const int64_t n = self.size(-1);
  TENON_CHECK(static_cast<int64_t>(bins) == n, ValueError, name, ": expected ", n,
              " sequences of bin edges or numbers of bins, but got ", bins);
  if (!weight) return n;
  TENON_CHECK(weight->scalar_type() == self.scalar_type(), ValueError, name,
              ": if weight tensor is provided, input tensor and weight tensor should have the same "
              "dtype, but got input(",
              toString(self.scalar_type()), "), and weight(", toString(weight->scalar_type()), ")");
  TENON_CHECK(weight->sizes() == self.sizes().slice(0, static_cast<std::size_t>(self.dim() - 1)),
              ValueError, name,
              ": if weight tensor is provided, it should have the same shape as the input tensor "
              "excluding its innermost dimension, but got input with shape ",
              self.sizes(), " and weight with shape ", weight->sizes());
  return n;
}

std::vector<Tensor> equal_edges(const Tensor& self, IntArrayRef bins, const Range& range) {
  const char* name = "histogramdd";
  const int64_t n = check_points(self, bins.size(), {});
  for (const int64_t b : bins)
    TENON_CHECK(b > 0, ValueError, name, ": bins must be > 0, but got ", b);
  TENON_CHECK(!range || static_cast<int64_t>(range->size()) == 2 * n, ValueError, name, ": for a ",
              n, "-dimensional histogram range should have ", 2 * n, " elements, but got ",
              range ? range->size() : 0);
  const Tensor points = self.detach().reshape({-1, n});
  std::vector<Tensor> edges;
  for (int64_t d = 0; d < n; ++d) {
    const auto i = static_cast<std::size_t>(d);
    double low = 0, high = points.numel() > 0 ? 0 : 1;
    if (range) {
      low = (*range)[2 * i], high = (*range)[2 * i + 1];
    } else if (points.numel() > 0) {
      low = points.select(1, d).min().item<double>(),
      high = points.select(1, d).max().item<double>();
    }
    TENON_CHECK(std::isfinite(low) && std::isfinite(high), ValueError, name, ": dimension ", d,
                "'s range [", low, ", ", high, "] is not finite");
    TENON_CHECK(low <= high, ValueError, name, ": min should not exceed max, but got min ", low,
                " max ", high, " for dimension ", d);
    if (low == high) low -= 0.5, high += 0.5;
    edges.push_back(tenon::linspace(low, high,
                                    (core::Size(bins[i]) + 1).get(name, "argument 'bins'"),
                                    self.options().requires_grad(false)));
  }
  return edges;
}

Tensor count(const Tensor& self, const std::vector<Tensor>& edges, const OptTensor& weight,
             bool density) {
  const int64_t n = check_points(self, edges.size(), weight);
  const Tensor points = self.detach().reshape({-1, n});
  Tensor cell = tenon::zeros({points.size(0)}, TensorOptions(kLong).device(self.device())),
         inside = tenon::ones({points.size(0)}, TensorOptions(kBool).device(self.device()));
  std::vector<int64_t> shape;
  Tensor volume;
  for (int64_t d = 0; d < n; ++d) {
    const Tensor e = edges[static_cast<std::size_t>(d)].detach().contiguous();
    TENON_CHECK(e.dim() == 1 && e.numel() > 0, ValueError,
                "histogramdd: bins tensor should have one dimension and elements, but got ",
                e.sizes());
    TENON_CHECK(e.scalar_type() == self.scalar_type(), ValueError,
                "histogramdd: input tensor and bins tensors should have the same dtype");
    const int64_t bins = e.numel() - 1;
    const Tensor x = points.select(1, d).contiguous();
    Tensor at = tenon::searchsorted(e, x, false, true) - 1;
    at = tenon::where(x.eq(e.select(0, bins)), bins - 1, at);  // the last bin holds both edges
    inside =
        inside.logical_and(at.ge(0)).logical_and(at.lt(bins)).logical_and(x.isnan().logical_not());
    cell = cell * bins + at.clamp(0, std::max<int64_t>(bins - 1, 0));
    shape.push_back(bins);
    std::vector<int64_t> place(static_cast<std::size_t>(n), 1);
    place[static_cast<std::size_t>(d)] = bins;
    const Tensor widths = e.diff().view(place);
    volume = volume.defined() ? volume * widths : widths;
  }
  const int64_t cells = core::product(shape.data(), n).get("histogramdd", "the number of bins");
  const Tensor mass = weight ? weight->detach().reshape({-1})
                             : tenon::ones({points.size(0)}, self.options().requires_grad(false));
  Tensor sums = tenon::zeros({cells}, mass.options());
  if (cells > 0) sums = sums.scatter_add(0, cell, mass.masked_fill(inside.logical_not(), 0));
  sums = sums.view(shape);
  return density ? sums / (volume * sums.sum()) : sums;
}

}  // namespace

std::vector<Tensor> _histogramdd_bin_edges(const Tensor& self, IntArrayRef bins, Range range,
                                           const OptTensor& weight, bool) {
  check_points(self, bins.size(), weight);
  return equal_edges(self, bins, range);
}
Tensor _histogramdd_from_bin_cts(const Tensor& self, IntArrayRef bins, Range range,
                                 const OptTensor& weight, bool density) {
  check_points(self, bins.size(), weight);
  return count(self, equal_edges(self, bins, range), weight, density);
}
Tensor _histogramdd_from_bin_tensors(const Tensor& self, TensorList bins, const OptTensor& weight,
                                     bool density) {
  return count(self, bins.vec(), weight, density);
}
WithEdges histogramdd(const Tensor& self, IntArrayRef bins, Range range, const OptTensor& weight,
                      bool density) {
  check_points(self, bins.size(), weight);
  std::vector<Tensor> edges = equal_edges(self, bins, range);
  return {count(self, edges, weight, density), edges};
}
WithEdges histogramdd_int_bins(const Tensor& self, int64_t bins, Range range,
                               const OptTensor& weight, bool density) {
  TENON_CHECK(self.dim() >= 2, ValueError,
              "histogramdd: input tensor should have at least 2 dimensions, but got ", self.dim());
  const std::vector<int64_t> each(static_cast<std::size_t>(self.size(-1)), bins);
  return tenon::histogramdd(self, each, range, weight, density);
}
WithEdges histogramdd_TensorList_bins(const Tensor& self, TensorList bins, Range,
                                      const OptTensor& weight, bool density) {
  return {count(self, bins.vec(), weight, density), bins.vec()};
}

}  // namespace tenon::composite
