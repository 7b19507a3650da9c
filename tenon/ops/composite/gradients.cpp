// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients under ATen's names. Most are what autograd makes of the operator itself.
#include <vector>

#include "tenon/autograd.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/dims.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

using OptTensor = std::optional<Tensor>;

// The gradient of f at x; it can be differentiated again, by x and by `grad`.
template <class F>
Tensor gradient_of(const Tensor& x, const Tensor& grad, F&& f) {
  const bool again = GradMode::is_enabled() && (x.requires_grad() || grad.requires_grad());
  const AutoGradMode on(true);
  const Tensor at = again && x.requires_grad() ? x : x.detach().requires_grad_(true);
  const Tensor y = f(at);
  const Tensor cotangent = grad.sizes() == y.sizes() ? grad : grad.expand(y.sizes());
  if (!y.requires_grad()) return tenon::zeros_like(x);
  Tensor made = autograd::grad({y}, {at}, {cotangent}, again, again, true)[0];
  if (!made.defined()) made = tenon::zeros_like(x);
  return again ? made : made.detach();
}

// The bag of each element; the forward pass may have left it to the gradient.
Tensor bags_of(const Tensor& offset2bag, const Tensor& offsets, const Tensor& indices) {
  if (offset2bag.numel() == indices.numel()) return offset2bag.to(kLong);
  const Tensor places =
      tenon::arange(indices.numel(), TensorOptions(kLong).device(indices.device()));
  return tenon::searchsorted(offsets.to(kLong), places, false, true) - 1;
}

}  // namespace

Tensor elu_backward(const Tensor& grad, const Scalar& alpha, const Scalar& scale,
                    const Scalar& input_scale, bool is_result, const Tensor& x) {
  const double a = alpha.to<double>(), s = scale.to<double>(), in = input_scale.to<double>();
  TENON_CHECK(!is_result || a >= 0, ValueError,
              "elu_backward: In-place elu backward calculation is triggered with a negative slope "
              "which is not supported.");
  // Of what lies above, exp may be infinite, and its gradient NaN.
  const Tensor low = x.le(0), at = tenon::where(low, x, 0);
  const Tensor below = is_result ? (x + s * a) * in : (at * in).exp() * (s * a * in);
  return tenon::where(low, grad * below, grad * s);
}
Tensor leaky_relu_backward(const Tensor& grad, const Tensor& self, const Scalar& slope,
                           bool is_result) {
  TENON_CHECK(!is_result || slope.to<double>() >= 0, ValueError,
              "leaky_relu_backward: In-place leakyReLu backward calculation is triggered with a "
              "negative slope which is not supported.");
  return tenon::where(self.gt(0), grad, grad * slope);
}
Tensor rrelu_with_noise_backward(const Tensor& grad, const Tensor& self, const Tensor& noise,
                                 const Scalar& lower, const Scalar& upper, bool training,
                                 bool is_result) {
  const double low = lower.to<double>(), high = upper.to<double>();
  if (training && high - low > 1e-6) return grad * noise;
  return tenon::leaky_relu_backward(grad, self, (low + high) / 2, is_result);
}
Tensor hardsigmoid_backward(const Tensor& grad, const Tensor& self) {
  return gradient_of(self, grad, [](const Tensor& x) { return tenon::hardsigmoid(x); });
}
Tensor hardswish_backward(const Tensor& grad, const Tensor& self) {
  return gradient_of(self, grad, [](const Tensor& x) { return tenon::hardswish(x); });
}
Tensor hardshrink_backward(const Tensor& grad, const Tensor& self, const Scalar& lambd) {
  return gradient_of(self, grad, [&](const Tensor& x) { return tenon::hardshrink(x, lambd); });
}
Tensor softshrink_backward(const Tensor& grad, const Tensor& self, const Scalar& lambd) {
  return gradient_of(self, grad, [&](const Tensor& x) { return tenon::softshrink(x, lambd); });
}
Tensor log_sigmoid_backward(const Tensor& grad, const Tensor& self, const Tensor&) {
  return gradient_of(self, grad, [](const Tensor& x) { return tenon::log_sigmoid(x); });
}
std::tuple<Tensor, Tensor> log_sigmoid_forward(const Tensor& self) {
  return {tenon::log_sigmoid(self), self.detach().abs().neg().exp()};
}
Tensor logit_backward(const Tensor& grad, const Tensor& self, std::optional<double> eps) {
  return gradient_of(self, grad, [&](const Tensor& x) { return tenon::logit(x, eps); });
}
Tensor mish_backward(const Tensor& grad, const Tensor& self) {
  return gradient_of(self, grad, [](const Tensor& x) { return tenon::mish(x); });
}
Tensor glu_backward(const Tensor& grad, const Tensor& self, int64_t dim) {
  return gradient_of(self, grad, [&](const Tensor& x) { return tenon::glu(x, dim); });
}
// d (a sigmoid(b)), where dx = (da, db)
namespace {
// The halves of glu's argument along dim.
std::vector<Tensor> halves(const char* op, const Tensor& t, int64_t dim) {
  const std::vector<Tensor> parts = t.chunk(2, dim);
  TENON_CHECK(parts.size() == 2 && t.size(dim) % 2 == 0, ValueError, op,
              ": Halving dimension must be even, but dimension ", dim, " of shape ", t.sizes(),
              " is not");
  return parts;
}
}  // namespace

Tensor glu_jvp(const Tensor& glu, const Tensor& x, const Tensor& dx, int64_t dim) {
  const std::vector<Tensor> parts = halves("glu_jvp", x, dim), along = halves("glu_jvp", dx, dim);
  const Tensor s = parts[1].sigmoid();
  return along[0] * s + glu * (1 - s) * along[1];
}
Tensor glu_backward_jvp(const Tensor& grad_x, const Tensor& grad_glu, const Tensor& x,
                        const Tensor& dgrad_glu, const Tensor& dx, int64_t dim) {
  const std::vector<Tensor> parts = halves("glu_backward_jvp", x, dim),
                            along = halves("glu_backward_jvp", dx, dim);
  const Tensor& a = parts[0];
  const Tensor rest = 1 - parts[1].sigmoid(), s = 1 - rest;
  // The gradient of glu for its first half is grad_glu * s, that for its second a * rest times it.
  const Tensor grad_a = grad_x.narrow(dim, 0, grad_glu.size(dim)), slope = along[1] * rest;
  const Tensor first = dgrad_glu * s + grad_a * slope;
  const Tensor second = first * a * rest + grad_a * along[0] * rest - grad_a * a * s * slope;
  return tenon::cat({first, second}, dim);
}

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                         int64_t reduction) {
  return gradient_of(self, grad,
                     [&](const Tensor& x) { return tenon::mse_loss(x, target, reduction); });
}
Tensor l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                        int64_t reduction) {
  return gradient_of(self, grad,
                     [&](const Tensor& x) { return tenon::l1_loss(x, target, reduction); });
}
Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                               int64_t reduction, double beta) {
  return gradient_of(self, grad, [&](const Tensor& x) {
    return tenon::smooth_l1_loss(x, target, reduction, beta);
  });
}
Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                           int64_t reduction, double delta) {
  return gradient_of(
      self, grad, [&](const Tensor& x) { return tenon::huber_loss(x, target, reduction, delta); });
}
Tensor binary_cross_entropy_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                     const OptTensor& weight, int64_t reduction) {
  return gradient_of(self, grad, [&](const Tensor& x) {
    return tenon::binary_cross_entropy(x, target, weight, reduction);
  });
}
Tensor soft_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                 int64_t reduction) {
  return gradient_of(
      self, grad, [&](const Tensor& x) { return tenon::soft_margin_loss(x, target, reduction); });
}
Tensor multi_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                  const Scalar& p, const Scalar& margin, const OptTensor& weight,
                                  int64_t reduction) {
  return gradient_of(self, grad, [&](const Tensor& x) {
    return tenon::multi_margin_loss(x, target, p, margin, weight, reduction);
  });
}
Tensor multilabel_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target,
                                       int64_t reduction, const Tensor&) {
  return gradient_of(self, grad, [&](const Tensor& x) {
    return tenon::multilabel_margin_loss(x, target, reduction);
  });
}
std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(const Tensor& self, const Tensor& target,
                                                          int64_t reduction) {
  const Tensor loss = tenon::multilabel_margin_loss(self, target, reduction);
  // Labels count up to the first -1.
  const Tensor labels = target.reshape({-1, target.dim() ? target.size(-1) : 1});
  const Tensor ended = labels.lt(0).to(kLong).cumsum(1).gt(0);
  const Tensor ones = ended.logical_not().to(self.scalar_type());
  const Tensor is_target = tenon::zeros(labels.sizes(), ones.options())
                               .scatter_reduce(1, labels.masked_fill(ended, 0), ones, "amax");
  return {loss, is_target.reshape(target.sizes())};
}

std::tuple<Tensor, Tensor> _prelu_kernel_backward(const Tensor& grad, const Tensor& self,
                                                  const Tensor& weight) {
  const Tensor positive = self.gt(0);
  return {tenon::where(positive, grad, grad * weight),
          tenon::where(positive, tenon::zeros_like(grad), grad * self)};
}

std::tuple<Tensor, Tensor> prelu_backward(const Tensor& grad, const Tensor& self,
                                          const Tensor& weight) {
  return {gradient_of(self, grad, [&](const Tensor& x) { return tenon::prelu(x, weight); }),
          gradient_of(weight, grad, [&](const Tensor& w) { return tenon::prelu(self, w); })};
}

Tensor _cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p,
                       const Tensor&) {
  return gradient_of(x1, grad, [&](const Tensor& x) {
    return tenon::linalg_vector_norm(x.unsqueeze(-2) - x2.unsqueeze(-3), p, {-1});
  });
}
Tensor _pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor&) {
  return gradient_of(self, grad, [&](const Tensor& x) { return tenon::pdist(x, p); });
}

Tensor _embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                               const Tensor& offset2bag, const Tensor& bag_size,
                               const Tensor& maximum_indices, int64_t num_weights,
                               bool scale_grad_by_freq, int64_t mode, bool,
                               const OptTensor& per_sample_weights, int64_t padding_idx) {
  const Tensor zeros = grad.new_zeros({num_weights, grad.size(1)});
  if (mode == 2) {  // the element that each bag chose
    const Tensor chosen = maximum_indices.to(kLong);
    return zeros.scatter_add(0, chosen.clamp_min(0), grad.masked_fill(chosen.lt(0), 0));
  }
  const Tensor bags = bags_of(offset2bag, offsets, indices);
  Tensor each = grad.index_select(0, bags);
  if (mode == 1) each = each / bag_size.index_select(0, bags).to(grad.scalar_type()).unsqueeze(1);
  if (per_sample_weights) each = each * per_sample_weights->unsqueeze(1);
  return tenon::embedding_dense_backward(each, indices, num_weights, padding_idx,
                                         scale_grad_by_freq);
}
Tensor _embedding_bag_per_sample_weights_backward(const Tensor& grad, const Tensor& weight,
                                                  const Tensor& indices, const Tensor& offsets,
                                                  const Tensor& offset2bag, int64_t mode,
                                                  int64_t padding_idx) {
  TENON_CHECK(mode == 0, ValueError,
              "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  const Tensor at = indices.to(kLong);
  const Tensor products =
      (grad.index_select(0, bags_of(offset2bag, offsets, indices)) * weight.index_select(0, at))
          .sum(1);
  return padding_idx < 0 ? products : products.masked_fill(at.eq(padding_idx), 0);
}

Tensor _segment_reduce_backward(const Tensor& grad, const Tensor&, const Tensor& data,
                                std::string_view reduce, const OptTensor& lengths,
                                const OptTensor& offsets, int64_t axis,
                                const std::optional<Scalar>& initial) {
  return gradient_of(data, grad, [&](const Tensor& x) {
    return tenon::segment_reduce(x, reduce, lengths, {}, offsets, axis, true, initial);
  });
}

Tensor masked_scatter_backward(const Tensor& grad, const Tensor& mask, IntArrayRef sizes) {
  const int64_t n = core::product(sizes.data(), static_cast<int64_t>(sizes.size()))
                        .get("masked_scatter_backward", "the product of argument 'sizes'");
  const Tensor taken = grad.masked_select(mask);
  if (taken.numel() >= n) return taken.narrow(0, 0, n).view(sizes);
  return tenon::constant_pad_nd(taken, {0, n - taken.numel()}, 0).view(sizes);
}
Tensor value_selecting_reduction_backward(const Tensor& grad, int64_t dim, const Tensor& indices,
                                          IntArrayRef sizes, bool keepdim) {
  const Tensor zeros = grad.new_zeros(sizes);
  if (keepdim || sizes.empty()) return zeros.scatter(dim, indices, grad);
  return zeros.scatter(dim, indices.unsqueeze(dim), grad.unsqueeze(dim));
}
Tensor cumprod_backward(const Tensor& grad, const Tensor& input, int64_t dim, const Tensor&) {
  return gradient_of(input, grad, [&](const Tensor& x) { return x.cumprod(dim); });
}
Tensor trace_backward(const Tensor& grad, IntArrayRef sizes) {
  TENON_CHECK(sizes.size() == 2, ValueError, "trace_backward: expected matrix input, got ", sizes);
  return tenon::eye(sizes[0], sizes[1], grad.options().requires_grad(false)) * grad;
}
std::tuple<Tensor, Tensor, Tensor> conv_tbc_backward(const Tensor& self, const Tensor& input,
                                                     const Tensor& weight, const Tensor& bias,
                                                     int64_t pad) {
  const auto at = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return tenon::conv_tbc(a, b, c, pad);
  };
  return {gradient_of(input, self, [&](const Tensor& x) { return at(x, weight, bias); }),
          gradient_of(weight, self, [&](const Tensor& x) { return at(input, x, bias); }),
          gradient_of(bias, self, [&](const Tensor& x) { return at(input, weight, x); })};
}
Tensor affine_grid_generator_backward(const Tensor& grad, IntArrayRef size, bool align_corners) {
  const auto n = static_cast<int64_t>(size.size()) - 2;
  TENON_CHECK(n == 2 || n == 3, ValueError,
              "affine_grid_generator_backward: expected 4 or 5 sizes, got ", size);
  const Tensor theta = tenon::zeros({size[0], n, n + 1}, grad.options().requires_grad(false));
  return gradient_of(theta, grad, [&](const Tensor& x) {
    return tenon::affine_grid_generator(x, size, align_corners);
  });
}

}  // namespace tenon::composite
