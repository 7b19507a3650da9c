// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Differences, reductions of segments, products and weights that are normalized.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;
using Ints = std::vector<int64_t>;

// Differences of neighbors over their distance, in the middle of second order. `at` are the places
// of the elements.
Tensor gradient_along(const Tensor& f, const Tensor& at, int64_t dim, int64_t edge_order) {
  const int64_t n = f.size(dim);
  std::vector<int64_t> shape(static_cast<std::size_t>(f.dim()), 1);
  shape[static_cast<std::size_t>(dim < 0 ? dim + f.dim() : dim)] = n - 1;
  const Tensor steps = (at.slice(0, 1) - at.slice(0, 0, n - 1)).view(shape);
  const Tensor slopes = (f.slice(dim, 1) - f.slice(dim, 0, n - 1)) / steps;
  Tensor first = slopes.narrow(dim, 0, 1), last = slopes.narrow(dim, n - 2, 1);
  if (n == 2) return tenon::cat({first, last}, dim);
  const Tensor left = steps.narrow(dim, 0, n - 2), right = steps.narrow(dim, 1, n - 2);
  const Tensor a = slopes.narrow(dim, 0, n - 2), b = slopes.narrow(dim, 1, n - 2);
  const Tensor middle = (a * right + b * left) / (left + right);
  if (edge_order == 2) {
    first = first * 2 - middle.narrow(dim, 0, 1);  // the slope of a parabola
    last = last * 2 - middle.narrow(dim, n - 3, 1);
  }
  return tenon::cat({first, middle, last}, dim);
}

Ints all_dims(const Tensor& t, std::optional<int64_t> dim) {
  if (dim) return {*dim};
  Ints dims(static_cast<std::size_t>(t.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}
Ints check_dims(const Tensor& self, IntArrayRef dims, int64_t edge_order) {
  TENON_CHECK(edge_order == 1 || edge_order == 2, ValueError,
              "gradient: only supports edge_order=1 and edge_order=2.");
  TENON_CHECK(self.scalar_type() != kUInt8, ValueError, "gradient: does not support uint8 input.");
  const Ints out = distinct_dims("gradient", dims, self.dim());
  for (const int64_t d : out) {
    TENON_CHECK(self.dim() > 0 && self.size(d) >= edge_order + 1, ValueError,
                "gradient: expected each dimension size to be at least edge_order+1");
  }
  return out;
}

std::vector<Tensor> with_spacing(const Tensor& self, ArrayRef<Scalar> spacing, IntArrayRef dim,
                                 int64_t edge_order) {
  const Ints dims = check_dims(self, dim, edge_order);
  TENON_CHECK(spacing.size() == dims.size(), ValueError,
              "gradient: expected spacing to be unspecified, a scalar or a list of length ",
              dims.size(), ", but got a list of length ", spacing.size());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const double step = spacing[i].to<double>();
    const bool inexact = self.is_floating_point() || self.is_complex();
    const ScalarType t = inexact ? toRealValueType(self.scalar_type()) : get_default_dtype();
    const TensorOptions options = TensorOptions(t).device(self.device());
    const Tensor at = tenon::arange(self.size(dims[i]), options) * step;
    out.push_back(gradient_along(self, at, dims[i], edge_order));
  }
  return out;
}
std::vector<Tensor> with_places(const Tensor& self, TensorList places, IntArrayRef dim,
                                int64_t edge_order) {
  const Ints dims = check_dims(self, dim, edge_order);
  TENON_CHECK(places.size() == dims.size(), ValueError,
              "gradient: expected spacing to be a list of ", dims.size(), " tensors, got ",
              places.size());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    TENON_CHECK(places[i].dim() == 1 && places[i].size(0) == self.size(dims[i]), ValueError,
                "gradient: expected each element of spacing to have one dimension with ",
                self.size(dims[i]), " elements, got ", places[i].sizes());
    out.push_back(gradient_along(self, places[i], dims[i], edge_order));
  }
  return out;
}

// The norm over all dimensions but one, which keeps its place. -1: over all.
Tensor norm_except(const Tensor& v, int64_t dim) {
  if (dim == -1 || v.dim() == 0) return v.norm(2);
  const int64_t kept = wrap("_weight_norm", dim, v.dim());
  Ints others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != kept) others.push_back(d);
  return others.empty() ? v.abs() : v.norm(2, others, true);
}

struct Segments {
  Tensor begin, end;  // [.., segments]
};
Segments check_segments(const Tensor& data, const OptTensor& lengths, const OptTensor& indices,
                        const OptTensor& offsets, int64_t axis, bool unsafe) {
  const char* name = "segment_reduce";
  TENON_CHECK(data.dim() >= 1 && data.numel() > 0, ValueError, name,
              ": expected input to have elements and at least 1 dimension, got ", data.sizes());
  TENON_CHECK(!indices, NotImplementedError, name,
              ": does not support `indices` based reduction yet");
  TENON_CHECK(lengths || offsets, ValueError, name, ": Either lengths or offsets must be provided");
  const Tensor given = offsets ? *offsets : *lengths;
  TENON_CHECK(isIntegralType(given.scalar_type()) && given.dim() >= 1 && given.dim() <= data.dim(),
              ValueError, name, ": expected integers of at most ", data.dim(), " dimensions, got ",
              given.sizes());
  TENON_CHECK(axis == given.dim() - 1, ValueError, name,
              ": Expected axis to be the last dimension of lengths or offsets but got ", axis);
  for (int64_t d = 0; d < axis; ++d)
    TENON_CHECK(given.size(d) == data.size(d), ValueError, name, ": expected size ", data.size(d),
                " at dimension ", d, ", got ", given.size(d));
  const Tensor n = given.detach().to(kLong);
  if (offsets) {
    TENON_CHECK(n.size(-1) > 0, ValueError, name, ": expected at least one offset");
    TENON_CHECK(
        unsafe || (n.min().item<int64_t>() >= 0 && n.max().item<int64_t>() <= data.size(axis) &&
                   n.diff().ge(0).all().item<bool>()),
        ValueError, name, ": offsets must increase from 0 to at most ", data.size(axis));
    return {n.slice(-1, 0, n.size(-1) - 1), n.slice(-1, 1)};
  }
  if (!unsafe && n.numel() > 0) {
    TENON_CHECK(n.min().item<int64_t>() >= 0, ValueError, name,
                ": lengths contains negative value!");
    TENON_CHECK(
        n.sum({-1}).eq(data.size(axis)).all().item<bool>(), ValueError, name,
        ": Expected all rows of lengths along axis to sum to data.size(axis) = ", data.size(axis));
  }
  const Tensor end = n.cumsum(-1);
  return {end - n, end};
}

}  // namespace

std::vector<Tensor> gradient_scalarint(const Tensor& self, const std::optional<Scalar>& spacing,
                                       std::optional<int64_t> dim, int64_t edge_order) {
  const Ints dims = all_dims(self, dim);
  return with_spacing(self, std::vector<Scalar>(dims.size(), spacing.value_or(1)), dims,
                      edge_order);
}
std::vector<Tensor> gradient_scalararray(const Tensor& self, const Scalar& spacing, IntArrayRef dim,
                                         int64_t edge_order) {
  return with_spacing(self, std::vector<Scalar>(dim.size(), spacing), dim, edge_order);
}
std::vector<Tensor> gradient_array(const Tensor& self, IntArrayRef dim, int64_t edge_order) {
  return with_spacing(self, std::vector<Scalar>(dim.size(), 1), dim, edge_order);
}
std::vector<Tensor> gradient_scalarrayint(const Tensor& self, ArrayRef<Scalar> spacing,
                                          std::optional<int64_t> dim, int64_t edge_order) {
  return with_spacing(self, spacing, all_dims(self, dim), edge_order);
}
std::vector<Tensor> gradient_scalarrayarray(const Tensor& self, ArrayRef<Scalar> spacing,
                                            IntArrayRef dim, int64_t edge_order) {
  return with_spacing(self, spacing, dim, edge_order);
}
std::vector<Tensor> gradient_tensorarrayint(const Tensor& self, TensorList spacing,
                                            std::optional<int64_t> dim, int64_t edge_order) {
  return with_places(self, spacing, all_dims(self, dim), edge_order);
}
std::vector<Tensor> gradient_tensorarray(const Tensor& self, TensorList spacing, IntArrayRef dim,
                                         int64_t edge_order) {
  return with_places(self, spacing, dim, edge_order);
}

// Elements of a dimension joined by segments; what is in no segment takes no part.
Tensor segment_reduce(const Tensor& data, std::string_view reduce, const OptTensor& lengths,
                      const OptTensor& indices, const OptTensor& offsets, int64_t axis, bool unsafe,
                      const std::optional<Scalar>& initial) {
  const bool sum = reduce == "sum", mean = reduce == "mean", prod = reduce == "prod",
             max = reduce == "max";
  TENON_CHECK(sum || mean || prod || max || reduce == "min", ValueError,
              "segment_reduce: unsupported reduction '", reduce, "'");
  axis = wrap("segment_reduce", axis, data.dim());
  const Segments s = check_segments(data, lengths, indices, offsets, axis, unsafe);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double neutral = sum || mean ? 0 : prod ? 1 : max ? -kInfinity : kInfinity;
  const double start = initial ? initial->to<double>() : neutral;
  const int64_t n = s.end.size(-1);
  std::vector<int64_t> shape = data.sizes().vec(), lists = s.end.sizes().vec();
  shape[static_cast<std::size_t>(axis)] = n + 1;  // the last one takes what is in no segment
  lists.back() = data.size(axis);
  const Tensor places =
      tenon::arange(data.size(axis), TensorOptions(kLong).device(data.device())).expand(lists);
  Tensor of = tenon::searchsorted(s.end.contiguous(), places.contiguous(), false, true);
  if (n > 0) of = tenon::where(places.lt(s.begin.gather(-1, of.clamp_max(n - 1))), n, of);
  for (int64_t d = axis + 1; d < data.dim(); ++d) of = of.unsqueeze(-1);
  const Tensor x = wide(data);
  const char* how = sum || mean ? "sum" : prod ? "prod" : max ? "amax" : "amin";
  Tensor out = tenon::full(shape, start, x.options().requires_grad(false))
                   .scatter_reduce(axis, of.expand(data.sizes()), x, how)
                   .narrow(axis, 0, n);
  if (mean) {
    Tensor count = (s.end - s.begin).to(x.scalar_type());
    for (int64_t d = axis + 1; d < data.dim(); ++d) count = count.unsqueeze(-1);
    out = initial ? tenon::where(count.eq(0), out, out / count) : out / count;
  }
  return rounded(out, data);
}

// The sums of i1 * i2 * i3 over dimensions, after new dimensions of size 1 are put in.
Tensor _trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3, IntArrayRef expand1,
                  IntArrayRef expand2, IntArrayRef expand3, IntArrayRef summed, int64_t) {
  const auto expanded = [](Tensor t, IntArrayRef dims) {
    for (const int64_t d : dims) t = t.unsqueeze(d);
    return t;
  };
  const Tensor a = expanded(i1, expand1), b = expanded(i2, expand2), c = expanded(i3, expand3);
  const Tensor product = a * b * c;
  // Where a tensor has no new dimension, its size is that of the product.
  const auto is_whole = [&](const Tensor& t, IntArrayRef dims) {
    for (int64_t d = 0; d < product.dim(); ++d) {
      const bool added = std::find(dims.begin(), dims.end(), d) != dims.end();
      if (!added && t.size(d) != product.size(d)) return false;
    }
    return a.dim() == b.dim() && b.dim() == c.dim();
  };
  TENON_CHECK(is_whole(a, expand1) && is_whole(b, expand2) && is_whole(c, expand3), ValueError,
              "_trilinear: sizes ", a.sizes(), ", ", b.sizes(), " and ", c.sizes(),
              " differ in dimensions that are not expanded");
  return summed.empty() ? product : product.sum(summed);
}

Tensor _weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  return v * (g / norm_except(v, dim));
}
std::tuple<Tensor, Tensor> _weight_norm_interface(const Tensor& v, const Tensor& g, int64_t dim) {
  const Tensor norms = norm_except(v, dim);
  return {v * (g / norms), norms};
}

Tensor _convolution_mode(const Tensor& input, const Tensor& weight, const OptTensor& bias,
                         IntArrayRef stride, std::string_view padding, IntArrayRef dilation,
                         int64_t groups) {
  if (weight.dim() == 3)
    return tenon::conv1d(input, weight, bias, stride, padding, dilation, groups);
  if (weight.dim() == 4)
    return tenon::conv2d(input, weight, bias, stride, padding, dilation, groups);
  return tenon::conv3d(input, weight, bias, stride, padding, dilation, groups);
}

}  // namespace tenon::composite
