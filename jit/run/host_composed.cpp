// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Operators of programs that are a few operators of the library: products, weights that are
// normalized, differences, reductions of segments, simulated quantization.
#include <cmath>
#include <limits>
#include <numeric>

#include "jit/run/unboxed.h"
#include "tenon/autograd/mode.h"
#include "tenon/creation.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::jit {
namespace {

Tensor kron(const Tensor& a, const Tensor& b) {
  const int64_t rank = std::max(a.dim(), b.dim());
  std::vector<int64_t> left, right, both;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t m = d < rank - a.dim() ? 1 : a.size(d - rank),
                  n = d < rank - b.dim() ? 1 : b.size(d - rank);
    left.insert(left.end(), {m, 1}), right.insert(right.end(), {1, n});
    both.push_back(m * n);
  }
  return (a.reshape(left) * b.reshape(right)).reshape(both);
}

Tensor vander(const Tensor& x, std::optional<int64_t> columns, bool increasing) {
  TENON_CHECK(x.dim() == 1, ValueError, "vander: expected a vector, got ", x.sizes());
  const int64_t n = columns.value_or(x.size(0));
  TENON_CHECK(n >= 0, ValueError, "vander: argument 'N' must not be negative, got ", n);
  const Tensor powers = tenon::arange(n, TensorOptions(kLong).device(x.device()));
  const Tensor made = x.unsqueeze(1).pow(powers);
  return increasing ? made : made.flip({1});
}

// The norm over all dimensions but one, which keeps its place. -1: over all.
Tensor norm_except_dim(const Tensor& v, int64_t power, int64_t dim) {
  if (dim == -1 || v.dim() == 0) return v.norm(power);
  const int64_t kept = dim < 0 ? dim + v.dim() : dim;
  std::vector<int64_t> others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != kept) others.push_back(d);
  if (others.empty()) return v.abs();
  return power == 2 ? v.square().sum(others, true).sqrt() : v.norm(power, others, true);
}
Tensor weight_norm(const Tensor& v, const Tensor& g, int64_t dim) {
  return v * (g / norm_except_dim(v, 2, dim));
}
std::tuple<Tensor, Tensor> weight_norm_interface(const Tensor& v, const Tensor& g, int64_t dim) {
  const Tensor norms = norm_except_dim(v, 2, dim);
  return {v * (g / norms), norms};
}

// The sums of i1 * i2 * i3 over dimensions, after new dimensions of size 1 are put in.
Tensor trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3,
                 const std::vector<int64_t>& expand1, const std::vector<int64_t>& expand2,
                 const std::vector<int64_t>& expand3, const std::vector<int64_t>& summed, int64_t) {
  const auto expanded = [](Tensor t, const std::vector<int64_t>& dims) {
    for (const int64_t d : dims) t = t.unsqueeze(d);
    return t;
  };
  const Tensor product = expanded(i1, expand1) * expanded(i2, expand2) * expanded(i3, expand3);
  return summed.empty() ? product : product.sum(summed);
}

// conv with "same" or "valid" padding, as traces have it.
Tensor convolution_mode(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, const std::vector<int64_t>& stride,
                        const std::string& padding, const std::vector<int64_t>& dilation,
                        int64_t groups) {
  switch (weight.dim()) {
    case 3:
      return tenon::conv1d(input, weight, bias, stride, padding, dilation, groups);
    case 4:
      return tenon::conv2d(input, weight, bias, stride, padding, dilation, groups);
    default:
      return tenon::conv3d(input, weight, bias, stride, padding, dilation, groups);
  }
}
using Ints = std::vector<int64_t>;
Tensor conv2d_of(const Tensor& x, const Tensor& weight, const Ints&,
                 const std::optional<Tensor>& bias, const Ints& stride, const Ints& padding) {
  return tenon::conv2d(x, weight, bias, stride, padding);
}
Tensor conv3d_of(const Tensor& x, const Tensor& weight, const Ints&,
                 const std::optional<Tensor>& bias, const Ints& stride, const Ints& padding) {
  return tenon::conv3d(x, weight, bias, stride, padding);
}
Tensor conv_depthwise2d(const Tensor& x, const Tensor& weight, const Ints&,
                        const std::optional<Tensor>& bias, const Ints& stride, const Ints& padding,
                        const Ints& dilation) {
  return tenon::conv2d(x, weight, bias, stride, padding, dilation, x.size(-3));
}
Tensor conv_depthwise3d(const Tensor& x, const Tensor& weight, const Ints&,
                        const std::optional<Tensor>& bias, const Ints& stride, const Ints& padding,
                        const Ints& dilation) {
  return tenon::conv3d(x, weight, bias, stride, padding, dilation, x.size(-4));
}

// Differences of neighbors over their distance, in the middle of second order. `at` are the places
// of the elements.
Tensor gradient_along(const Tensor& f, const Tensor& at, int64_t dim, int64_t edge_order) {
  const int64_t n = f.size(dim);
  TENON_CHECK(edge_order == 1 || edge_order == 2, ValueError,
              "torch.gradient only supports edge_order=1 and edge_order=2.");
  TENON_CHECK(n > edge_order, ValueError,
              "torch.gradient expected each dimension size to be at least edge_order+1");
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
std::vector<int64_t> all_dims(const Tensor& t, std::optional<int64_t> dim) {
  if (dim) return {*dim};
  std::vector<int64_t> dims(static_cast<std::size_t>(t.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}
std::vector<Tensor> gradient(const Tensor& self, const std::vector<Scalar>& spacing,
                             const Ints& dims, int64_t edge_order) {
  TENON_CHECK(spacing.size() == 1 || spacing.size() == dims.size(), ValueError,
              "torch.gradient expected spacing to be unspecified, a scalar or a list of ",
              dims.size(), ", got ", spacing.size());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const double step = spacing[spacing.size() == 1 ? 0 : i].to<double>();
    const TensorOptions options = self.is_floating_point()
                                      ? self.options().requires_grad(false)
                                      : TensorOptions(kFloat).device(self.device());
    const Tensor at = tenon::arange(self.size(dims[i]), options) * step;
    out.push_back(gradient_along(self, at, dims[i], edge_order));
  }
  return out;
}
std::vector<Tensor> gradient_scalarint(const Tensor& self, const std::optional<Scalar>& spacing,
                                       std::optional<int64_t> dim, int64_t edge_order) {
  return gradient(self, {spacing.value_or(1)}, all_dims(self, dim), edge_order);
}
std::vector<Tensor> gradient_scalararray(const Tensor& self, const Scalar& spacing, const Ints& dim,
                                         int64_t edge_order) {
  return gradient(self, {spacing}, dim, edge_order);
}
std::vector<Tensor> gradient_array(const Tensor& self, const Ints& dim, int64_t edge_order) {
  return gradient(self, {1}, dim, edge_order);
}
std::vector<Tensor> gradient_scalars(const Tensor& self, const std::vector<Scalar>& spacing,
                                     std::optional<int64_t> dim, int64_t edge_order) {
  return gradient(self, spacing, all_dims(self, dim), edge_order);
}
std::vector<Tensor> gradient_tensors(const Tensor& self, const std::vector<Tensor>& spacing,
                                     const Ints& dims, int64_t edge_order) {
  TENON_CHECK(spacing.size() == dims.size(), ValueError, "torch.gradient expected spacing to be ",
              "a list of ", dims.size(), " tensors, got ", spacing.size());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < dims.size(); ++i)
    out.push_back(gradient_along(self, spacing[i], dims[i], edge_order));
  return out;
}
std::vector<Tensor> gradient_tensors_int(const Tensor& self, const std::vector<Tensor>& spacing,
                                         std::optional<int64_t> dim, int64_t edge_order) {
  return gradient_tensors(self, spacing, all_dims(self, dim), edge_order);
}

// Elements of the first dimension joined by segments of given lengths.
Tensor segment_reduce(const Tensor& data, const std::string& reduce,
                      const std::optional<Tensor>& lengths, const std::optional<Tensor>& indices,
                      const std::optional<Tensor>& offsets, int64_t axis, bool,
                      const std::optional<Scalar>& initial) {
  TENON_CHECK(!indices && (lengths || offsets), NotImplementedError,
              "segment_reduce: either lengths or offsets must be given");
  const Tensor n = lengths ? *lengths : offsets->diff();
  TENON_CHECK(axis == 0 && n.dim() == 1, NotImplementedError,
              "segment_reduce: segments of other dimensions than the first are not supported");
  const Tensor of = tenon::repeat_interleave(n.to(kLong), std::optional<int64_t>(data.size(0)));
  const bool sum = reduce == "sum", mean = reduce == "mean", prod = reduce == "prod",
             max = reduce == "max";
  TENON_CHECK(sum || mean || prod || max || reduce == "min", ValueError,
              "segment_reduce: unsupported reduction '", reduce, "'");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double neutral = sum || mean ? 0 : prod ? 1 : max ? -kInfinity : kInfinity;
  std::vector<int64_t> shape = data.sizes().vec(), column(shape.size(), 1);
  shape[0] = column[0] = n.size(0);
  const Tensor begin = tenon::full(shape, initial.value_or(neutral), data.options());
  if (prod || max || reduce == "min")
    return begin.index_reduce(0, of, data, prod ? "prod" : max ? "amax" : "amin");
  const Tensor total = begin.index_add(0, of, data);
  if (!mean) return total;
  const Tensor count = n.to(data.scalar_type()).view(column);
  return initial ? tenon::where(n.eq(0).view(column), total, total / count) : total / count;
}

// x rounded to the nearest of the levels; the gradient passes where x is between the outer ones.
Tensor rounded_to(const Tensor& x, const Tensor& inverse, const Tensor& scale, const Tensor& zero,
                  int64_t low, int64_t high) {
  Tensor level, inside;
  {
    const NoGradGuard none;
    const Tensor q = (x * inverse).round() + zero;
    inside = q.ge(low).logical_and(q.le(high)).to(x.scalar_type());
    level = (q.clamp(low, high) - zero) * scale;
  }
  const Tensor passed = x * inside;
  return passed + (level - passed.detach());
}
Tensor fake_quantize_tensor(const Tensor& x, const Tensor& scale, const Tensor& zero, int64_t low,
                            int64_t high) {
  const Tensor s = scale.detach().to(kFloat);
  return rounded_to(x, s.reciprocal(), s, zero.detach().to(x.scalar_type()), low, high);
}
Tensor fake_quantize(const Tensor& x, double scale, int64_t zero, int64_t low, int64_t high) {
  const TensorOptions options = TensorOptions(kFloat).device(x.device());
  return fake_quantize_tensor(x, tenon::scalar_tensor(scale, options),
                              tenon::scalar_tensor(zero, options), low, high);
}
Tensor fake_quantize_channels(const Tensor& x, const Tensor& scale, const Tensor& zero,
                              int64_t axis, int64_t low, int64_t high) {
  std::vector<int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  TENON_CHECK(axis >= 0 && axis < x.dim(), IndexError, "fake_quantize_per_channel_affine: axis ",
              axis, " is not one of ", x.dim());
  shape[static_cast<std::size_t>(axis)] = x.size(axis);
  return fake_quantize_tensor(x, scale.view(shape), zero.view(shape), low, high);
}

const HostOperator list[] = {
    {"aten::kron(Tensor self, Tensor other) -> Tensor", unboxed<kron>},
    {"aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", unboxed<vander>},
    {"aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", unboxed<norm_except_dim>},
    {"aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", unboxed<weight_norm>},
    {"aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
     unboxed<weight_norm_interface>},
    {"aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] "
     "expand3, int[] sumdim, int unroll_dim=1) -> Tensor",
     unboxed<trilinear>},
    {"aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, int[] stride, str "
     "padding, int[] dilation, int groups) -> Tensor",
     unboxed<convolution_mode>},
    {"aten::thnn_conv2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias=None, int[2] "
     "stride=[1, 1], int[2] padding=[0, 0]) -> Tensor",
     unboxed<conv2d_of>},
    {"aten::slow_conv3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias=None, int[3] "
     "stride=[1, 1, 1], int[3] padding=[0, 0, 0]) -> Tensor",
     unboxed<conv3d_of>},
    {"aten::_conv_depthwise2d(Tensor self, Tensor weight, int[2] kernel_size, Tensor? bias, "
     "int[2] stride, int[2] padding, int[2] dilation) -> Tensor",
     unboxed<conv_depthwise2d>},
    {"aten::conv_depthwise3d(Tensor self, Tensor weight, int[3] kernel_size, Tensor? bias, int[3] "
     "stride, int[3] padding, int[3] dilation) -> Tensor",
     unboxed<conv_depthwise3d>},
    {"aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int "
     "edge_order=1) -> Tensor[]",
     unboxed<gradient_scalarint>},
    {"aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> "
     "Tensor[]",
     unboxed<gradient_scalararray>},
    {"aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]",
     unboxed<gradient_array>},
    {"aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int "
     "edge_order=1) -> Tensor[]",
     unboxed<gradient_scalars>},
    {"aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int "
     "edge_order=1) -> Tensor[]",
     unboxed<gradient>},
    {"aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int "
     "edge_order=1) -> Tensor[]",
     unboxed<gradient_tensors_int>},
    {"aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) "
     "-> Tensor[]",
     unboxed<gradient_tensors>},
    {"aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? "
     "indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> "
     "Tensor",
     unboxed<segment_reduce>},
    {"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int "
     "quant_min, int quant_max) -> Tensor",
     unboxed<fake_quantize>},
    {"aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor "
     "zero_point, int quant_min, int quant_max) -> Tensor",
     unboxed<fake_quantize_tensor>},
    {"aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int "
     "axis, int quant_min, int quant_max) -> Tensor",
     unboxed<fake_quantize_channels>},
};
const HostOperators registered(list, std::size(list));

}  // namespace
}  // namespace tenon::jit
