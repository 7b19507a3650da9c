// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tenon/autograd.h"
#include "tenon/autograd/formulas.h"
#include "tenon/autograd/formulas/recorded.h"
#include "tenon/ops/wide.h"

namespace tenon::autograd::formulas {
namespace {

using Dims = std::vector<int64_t>;

// Statistics over `dims`, kept as dimensions of size 1, as functions of the input.
struct Statistics {
  Tensor centered, rstd, normalized;
  Statistics(const Tensor& x, const Dims& dims, double eps) {
    centered = x - x.mean(dims, true);
    rstd = ((centered * centered).mean(dims, true) + eps).rsqrt();
    normalized = centered * rstd;
  }
};

// Gradient of `normalized` times g, by the input.
Tensor through_statistics(const Statistics& s, const Tensor& g, const Dims& dims) {
  return s.rstd * (g - g.mean(dims, true) - s.normalized * (g * s.normalized).mean(dims, true));
}

// What the gradients of the results mean and rstd add to that of the input; `count` elements share
// one of each.
Tensor by_statistics(const Tensor& grad_mean, const Tensor& grad_rstd, const Statistics& s,
                     double count) {
  Tensor sum;
  if (grad_mean.defined()) sum = (grad_mean / count).expand_as(s.centered);
  if (grad_rstd.defined()) {
    const Tensor t = -grad_rstd * s.rstd * s.rstd * s.rstd * s.centered / count;
    sum = sum.defined() ? sum + t : t;
  }
  return sum;
}

// All dimensions but the second.
Dims non_channel_dims(const Tensor& x) {
  Dims d{0};
  for (int64_t i = 2; i < x.dim(); ++i) d.push_back(i);
  return d;
}

// [C] as [1, C, 1, ...]
Tensor by_channel(const Tensor& t, const Tensor& like) {
  Dims sizes(static_cast<std::size_t>(std::max<int64_t>(2, like.dim())), 1);
  sizes[1] = t.size(0);
  return t.reshape(sizes);
}

// The dimensions that are normalized together, the others, and how many elements share statistics.
struct SplitDims {
  Dims inner, outer;
  double count = 1;
};
SplitDims split_dims(const Tensor& input, IntArrayRef normalized_shape) {
  SplitDims s;
  const int64_t leading = input.dim() - static_cast<int64_t>(normalized_shape.size());
  for (int64_t d = 0; d < input.dim(); ++d) (d < leading ? s.outer : s.inner).push_back(d);
  for (int64_t n : normalized_shape) s.count *= static_cast<double>(n);
  return s;
}
Tensor sum_over(const Tensor& t, const Dims& dims) { return dims.empty() ? t : t.sum(dims); }

Tensor add_defined(const Tensor& a, const Tensor& b) {
  return !a.defined() ? b : b.defined() ? a + b : a;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> batch_norm_train_gradients(
    const Tensor& grad, const Tensor& input, const std::optional<Tensor>& weight,
    const Tensor& mean, const Tensor& rstd, double eps, std::array<bool, 3> mask) {
  if (!grad.defined()) return {};
  if (!is_differentiated_again(grad, input, weight)) {
    return tenon::native_batch_norm_backward(grad, input, weight, std::nullopt, std::nullopt, mean,
                                             rstd, true, eps, mask);
  }
  const Dims dims = non_channel_dims(input);
  const Statistics s(input, dims, eps);
  const Tensor g = weight ? grad * by_channel(*weight, input) : grad;
  return {mask[0] ? through_statistics(s, g, dims) : Tensor(),
          mask[1] ? (grad * s.normalized).sum(dims) : Tensor(),
          mask[2] ? grad.sum(dims) : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_eval_gradients(
    const Tensor& grad, const Tensor& input, const std::optional<Tensor>& weight,
    const Tensor& running_mean, const Tensor& running_var, double eps, std::array<bool, 5> mask) {
  if (input.dim() < 2) {  // an empty input
    return {mask[0] ? zeros_like(input) : Tensor(),
            weight && mask[1] ? zeros_like(*weight) : Tensor(), Tensor(), Tensor(), Tensor()};
  }
  if (!is_differentiated_again(grad, input, weight) &&
      !is_differentiated_again({&running_mean, &running_var}) && !mask[3] && !mask[4]) {
    auto [x, w, b] = tenon::native_batch_norm_backward(grad, input, weight, running_mean,
                                                       running_var, std::nullopt, std::nullopt,
                                                       false, eps, {mask[0], mask[1], mask[2]});
    return {x, w, b, Tensor(), Tensor()};
  }
  const Dims dims = non_channel_dims(input);
  const Tensor rstd = by_channel((running_var + eps).rsqrt(), input);
  const Tensor centered = input - by_channel(running_mean, input);
  const Tensor g = weight ? grad * by_channel(*weight, input) : grad;
  return {mask[0] ? g * rstd : Tensor(), mask[1] ? (grad * centered * rstd).sum(dims) : Tensor(),
          mask[2] ? grad.sum(dims) : Tensor(), mask[3] ? -(g * rstd).sum(dims) : Tensor(),
          mask[4] ? (g * centered * rstd * rstd * rstd).sum(dims) * -0.5 : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_gradients(const Tensor& grad, const Tensor& input,
                                                        IntArrayRef normalized_shape,
                                                        const std::optional<Tensor>& weight,
                                                        const Tensor& mean, const Tensor& rstd,
                                                        double eps, std::array<bool, 3> mask) {
  if (!grad.defined()) return {};
  if (!is_differentiated_again(grad, input, weight)) {
    return tenon::native_layer_norm_backward(grad, input, normalized_shape, mean, rstd, weight,
                                             std::nullopt, mask);
  }
  const SplitDims dims = split_dims(input, normalized_shape);
  const Statistics s(input, dims.inner, eps);
  const Tensor g = weight ? grad * *weight : grad;
  return {mask[0] ? through_statistics(s, g, dims.inner) : Tensor(),
          mask[1] ? sum_over(grad * s.normalized, dims.outer) : Tensor(),
          mask[2] ? sum_over(grad, dims.outer) : Tensor()};
}

std::tuple<Tensor, Tensor> rms_norm_gradients(const Tensor& grad, const Tensor& grad_rstd,
                                              const Tensor& input, IntArrayRef normalized_shape,
                                              const std::optional<Tensor>& weight,
                                              const Tensor& rstd, std::optional<double> eps,
                                              std::array<bool, 2> mask) {
  if (!grad_rstd.defined() && !is_differentiated_again(grad, input, weight)) {
    return tenon::_fused_rms_norm_backward(grad, input, normalized_shape, rstd, weight, mask);
  }
  const auto [inner, outer, count] = split_dims(input, normalized_shape);
  const Tensor x = composite::wide(input);
  const Tensor r =
      ((x * x).mean(inner, true) + composite::eps_or_default(eps, x.scalar_type())).rsqrt();
  const Tensor normalized = x * r;
  Tensor by_input, by_weight;
  if (grad.defined()) {
    const Tensor g = composite::wide(grad), gy = weight ? g * composite::wide(*weight) : g;
    if (mask[0]) by_input = r * (gy - normalized * (gy * normalized).mean(inner, true));
    if (mask[1]) by_weight = sum_over(g * normalized, outer);
  }
  if (mask[0] && grad_rstd.defined())
    by_input = add_defined(by_input, -grad_rstd * r * r * normalized / count);
  if (by_input.defined()) by_input = composite::as(by_input, input.scalar_type());
  if (by_weight.defined()) by_weight = composite::as(by_weight, weight->scalar_type());
  return {by_input, by_weight};
}

std::tuple<Tensor, Tensor, Tensor> group_norm_gradients(
    const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_rstd, const Tensor& input,
    const std::optional<Tensor>& weight, const Tensor& mean, const Tensor& rstd, int64_t batch,
    int64_t channels, int64_t plane, int64_t groups, double eps, std::array<bool, 3> mask) {
  const bool statistics = grad_mean.defined() || grad_rstd.defined();
  if (!statistics && !is_differentiated_again(grad, input, weight)) {
    return tenon::native_group_norm_backward(grad, input, mean, rstd, weight, batch, channels,
                                             plane, groups, mask);
  }
  // [N, groups, channels of a group, plane]
  const int64_t shape[] = {batch, groups, channels / groups, plane};
  const Dims inner{2, 3}, others{0, 3};
  const Statistics s(input.reshape(shape), inner, eps);
  Tensor by_input, by_weight, by_bias;
  if (grad.defined()) {
    const Tensor dy = grad.reshape(shape);
    if (mask[0]) {
      by_input = through_statistics(
          s, weight ? dy * weight->reshape({1, groups, channels / groups, 1}) : dy, inner);
    }
    if (mask[1]) by_weight = (dy * s.normalized).sum(others).reshape({channels});
    if (mask[2]) by_bias = dy.sum(others).reshape({channels});
  }
  if (mask[0]) {
    const auto expanded = [&](const Tensor& t) {
      return t.defined() ? t.reshape({batch, groups, 1, 1}) : t;
    };
    const int64_t count = channels / groups * plane;
    by_input = add_defined(by_input, by_statistics(expanded(grad_mean), expanded(grad_rstd), s,
                                                   static_cast<double>(count)))
                   .reshape(input.sizes());
  }
  return {by_input, by_weight, by_bias};
}

}  // namespace tenon::autograd::formulas
