// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Layers of recurrent cells step by step. Nothing is saved for the gradient, which recomputes the
// steps.
#include "tenon/ops/decomp/decomp.h"
#include "tenon/ops/rnn_layers.h"

namespace tenon::decomp {
namespace {

rnn::Fused widened(const Tensor& input, const Tensor& weight, const Tensor& hx,
                   const std::optional<Tensor>& cx, int64_t mode, bool has_biases,
                   bool bidirectional) {
  const bool has_cx = cx && cx->defined();
  return {wide(input),
          wide(weight),
          wide(hx),
          has_cx ? wide(*cx) : Tensor(),
          static_cast<rnn::Cell>(mode),
          has_biases,
          bidirectional};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> _fused_rnn(const Tensor& input, const Tensor& weight,
                                                      const Tensor& hx,
                                                      const std::optional<Tensor>& cx, int64_t mode,
                                                      bool has_biases, bool bidirectional, bool) {
  const ScalarType dtype = input.scalar_type();
  const auto [out, h, c] =
      rnn::over_layers(widened(input, weight, hx, cx, mode, has_biases, bidirectional));
  return {as(out, dtype), as(h, dtype), c.defined() ? as(c, dtype) : empty({0}, options_of(input)),
          empty({0}, options_of(input, kByte))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _fused_rnn_backward(
    const Tensor& grad_output, const std::optional<Tensor>& grad_hy,
    const std::optional<Tensor>& grad_cy, const Tensor& input, const Tensor& weight,
    const Tensor& hx, const std::optional<Tensor>& cx, const Tensor&, const Tensor&, int64_t mode,
    bool has_biases, bool bidirectional, std::array<bool, 4> mask) {
  rnn::Fused f = widened(input, weight, hx, cx, mode, has_biases, bidirectional);
  Tensor* const leaves[] = {&f.input, &f.weight, &f.hx, &f.cx};
  for (std::size_t k = 0; k < 4; ++k) {
    if (leaves[k]->defined()) *leaves[k] = leaves[k]->detach().requires_grad_(mask[k]);
  }
  const auto or_none = [](const std::optional<Tensor>& t) { return t ? *t : Tensor(); };
  auto out = rnn::gradients(f, {grad_output, or_none(grad_hy), or_none(grad_cy)}, mask, false);
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace tenon::decomp
