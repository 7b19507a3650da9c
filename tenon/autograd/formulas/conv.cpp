// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas.h"
#include "tenon/ops/activation.h"

namespace tenon::autograd::formulas {

std::tuple<Tensor, Tensor, Tensor> convolution_gradients(const Tensor& grad, const Tensor& input,
                                                         const Tensor& weight, IntArrayRef stride,
                                                         IntArrayRef padding, IntArrayRef dilation,
                                                         bool transposed,
                                                         IntArrayRef output_padding, int64_t groups,
                                                         std::array<bool, 3> mask) {
  return tenon::convolution_backward(grad, input, weight, std::nullopt, stride, padding, dilation,
                                     transposed, output_padding, groups, mask);
}

// The forward product P(input, weight) is bilinear; grad_input is linear in (grad_output, weight)
// and grad_weight in (grad_output, input). Each pairing with a cotangent is one of the three
// products again:
//   <gg_input, grad_input(go, w)> = <go, P(gg_input, w)>,  <gg_weight, grad_weight(go, x)> = <go,
//   P(x, gg_weight)>.
std::tuple<Tensor, Tensor, Tensor> convolution_double_backward(
    const Tensor& gg_input, const Tensor& gg_weight, const Tensor& gg_bias,
    const Tensor& grad_output, const Tensor& input, const Tensor& weight, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding,
    int64_t groups, std::array<bool, 3> mask) {
  Tensor for_output, for_input, for_weight;
  const auto add = [](Tensor& sum, const Tensor& t) { sum = sum.defined() ? sum + t : t; };
  const auto forward = [&](const Tensor& x, const Tensor& w) {
    return tenon::convolution(x, w, std::nullopt, stride, padding, dilation, transposed,
                              output_padding, groups);
  };
  const auto backward = [&](const Tensor& x, const Tensor& w, bool by_input) {
    return tenon::convolution_backward(grad_output, x, w, std::nullopt, stride, padding, dilation,
                                       transposed, output_padding, groups,
                                       {by_input, !by_input, false});
  };
  if (mask[0]) {
    if (gg_input.defined()) add(for_output, forward(gg_input, weight));
    if (gg_weight.defined()) add(for_output, forward(input, gg_weight));
    if (gg_bias.defined()) {
      std::vector<int64_t> sizes(static_cast<std::size_t>(grad_output.dim()), 1);
      sizes[1] = gg_bias.size(0);
      add(for_output, gg_bias.reshape(sizes).expand_as(grad_output));
    }
  }
  if (mask[1] && gg_weight.defined()) for_input = std::get<0>(backward(input, gg_weight, true));
  if (mask[2] && gg_input.defined()) for_weight = std::get<1>(backward(gg_input, weight, false));
  return {for_output, for_input, for_weight};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> conv_epilogue_gradients(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<Tensor>& bias, const std::optional<Tensor>& other, IntArrayRef stride,
    IntArrayRef padding, IntArrayRef dilation, int64_t groups, std::string_view activation,
    ArrayRef<double> parameters, std::array<bool, 4> mask) {
  const bool add = other && other->defined(), image = input.dim() + 1 == weight.dim();
  const Tensor images = image ? input.unsqueeze(0) : input;
  Tensor sum =
      tenon::convolution(images, weight, bias, stride, padding, dilation, false, {0}, groups);
  if (image) sum = sum.squeeze(0);
  if (add) sum = sum + *other;
  const Tensor g = activation_gradient(grad, sum, activation, parameters);
  const bool with_bias = mask[2] && bias && bias->defined();
  const auto [gi, gw, gb] = tenon::convolution_backward(
      image ? g.unsqueeze(0) : g, images, weight, std::nullopt, stride, padding, dilation, false,
      {0}, groups, std::array<bool, 3>{mask[0], mask[1], with_bias});
  return {image && gi.defined() ? gi.squeeze(0) : gi, gw, gb, mask[3] && add ? g : Tensor()};
}

}  // namespace tenon::autograd::formulas
