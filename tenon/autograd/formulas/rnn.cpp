// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/formulas/rnn.h"

#include "tenon/autograd.h"
#include "tenon/ops/rnn_layers.h"

namespace tenon::autograd::formulas {

std::tuple<Tensor, Tensor, Tensor, Tensor> fused_rnn_gradients(
    const Tensor& grad, const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& input,
    const Tensor& weight, const Tensor& hx, const std::optional<Tensor>& cx, const Tensor& output,
    const Tensor& reserve, int64_t mode, bool has_biases, bool bidirectional,
    std::array<bool, 4> mask) {
  const Tensor c0 = cx ? *cx : Tensor();
  if (GradMode::is_enabled()) {
    const rnn::Fused f{input,      weight,       hx, c0, static_cast<rnn::Cell>(mode),
                       has_biases, bidirectional};
    auto out = rnn::gradients(f, {grad, grad_hy, grad_cy}, mask, true);
    return {out[0], out[1], out[2], out[3]};
  }
  const auto if_defined = [](const Tensor& t) {
    return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
  };
  return tenon::_fused_rnn_backward(grad.defined() ? grad : zeros_like(output), if_defined(grad_hy),
                                    c0.defined() ? if_defined(grad_cy) : std::nullopt, input,
                                    weight, hx, cx, output, reserve, mode, has_biases,
                                    bidirectional, mask);
}

}  // namespace tenon::autograd::formulas
