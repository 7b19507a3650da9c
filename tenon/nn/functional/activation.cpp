// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/activation.h"

#include <cmath>
#include <tuple>
#include <utility>

#include "tenon/ops.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor elu(Tensor input, const ELUFuncOptions& options) {
  if (options.inplace()) return tenon::elu_(input, options.alpha());
  return tenon::elu(input, options.alpha());
}

Tensor selu(Tensor input, const SELUFuncOptions& options) {
  if (options.inplace()) return tenon::selu_(input);
  return tenon::selu(input);
}

Tensor celu(Tensor input, const CELUFuncOptions& options) {
  if (options.inplace()) return tenon::celu_(input, options.alpha());
  return tenon::celu(input, options.alpha());
}

Tensor gelu(const Tensor& input, const GELUFuncOptions& options) {
  return tenon::gelu(input, options.approximate());
}

Tensor glu(const Tensor& input, const GLUFuncOptions& options) {
  TENON_CHECK(input.dim() > 0, ValueError, "glu needs an even size in dimension ", options.dim(),
              "; scalars cannot be halved");
  return tenon::glu(input, options.dim());
}

Tensor silu(const Tensor& input) { return tenon::silu(input); }
Tensor mish(const Tensor& input) { return tenon::mish(input); }

Tensor relu(Tensor input, const ReLUFuncOptions& options) {
  if (options.inplace()) return tenon::relu_(input);
  return tenon::relu(input);
}

Tensor relu6(Tensor input, const ReLU6FuncOptions& options) {
  if (options.inplace()) return tenon::relu6_(input);
  return tenon::relu6(input);
}

Tensor rrelu(Tensor input, const RReLUFuncOptions& options) {
  TENON_CHECK(options.lower() <= options.upper() && std::isfinite(options.lower()) &&
                  std::isfinite(options.upper()),
              ValueError, "rrelu: lower=", options.lower(), " and upper=", options.upper(),
              " must be finite, and the first not the greater");
  if (!options.training()) {
    const double slope = (options.lower() + options.upper()) / 2;
    return leaky_relu(std::move(input),
                      LeakyReLUFuncOptions().negative_slope(slope).inplace(options.inplace()));
  }
  Tensor slopes;
  {
    NoGradGuard no_grad;
    slopes = tenon::empty_like(input).uniform_(options.lower(), options.upper());
  }
  // min(x, 0) * slope + max(x, 0): the gradient at a positive x is 1, at a negative one its slope.
  Tensor result = tenon::clamp_max(input, 0) * slopes + tenon::clamp_min(input, 0);
  if (options.inplace()) return input.copy_(result);
  return result;
}

Tensor prelu(const Tensor& input, const Tensor& weight) { return tenon::prelu(input, weight); }

Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options) {
  if (options.inplace()) return tenon::leaky_relu_(input, options.negative_slope());
  return tenon::leaky_relu(input, options.negative_slope());
}

Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options) {
  return tenon::hardshrink(input, options.lambda());
}

Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options) {
  if (options.inplace()) return tenon::hardtanh_(input, options.min_val(), options.max_val());
  return tenon::hardtanh(input, options.min_val(), options.max_val());
}

Tensor hardswish(Tensor input, const HardswishFuncOptions& options) {
  if (options.inplace()) return tenon::hardswish_(input);
  return tenon::hardswish(input);
}

Tensor hardsigmoid(Tensor input, const HardsigmoidFuncOptions& options) {
  if (options.inplace()) return tenon::hardsigmoid_(input);
  return tenon::hardsigmoid(input);
}

Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options) {
  return tenon::softplus(input, options.beta(), options.threshold());
}
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options) {
  return tenon::softshrink(input, options.lambda());
}
Tensor softsign(const Tensor& input) { return input / (input.abs() + 1); }
Tensor tanhshrink(const Tensor& input) { return input - input.tanh(); }

Tensor threshold(Tensor input, const ThresholdFuncOptions& options) {
  if (options.inplace()) return tenon::threshold_(input, options.threshold(), options.value());
  return tenon::threshold(input, options.threshold(), options.value());
}

Tensor logsigmoid(const Tensor& input) { return tenon::log_sigmoid(input); }

namespace {

// `dim`, or the one for an input whose caller gave none.
int64_t softmax_dim(const char* function, const Tensor& input, int64_t dim) {
  if (dim != kImplicitDim) return dim;
  const int64_t n = input.dim(), chosen = n == 0 || n == 1 || n == 3 ? 0 : 1;
  warn("user", core::join(function, ": the softmax dimension was chosen implicitly, ", chosen,
                          " of a ", n, "-D input; pass dim"));
  return chosen;
}

}  // namespace

Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options) {
  return tenon::softmax(input, softmax_dim("softmax", input, options.dim()), options.dtype());
}
Tensor softmin(const Tensor& input, const SoftminFuncOptions& options) {
  return tenon::softmax(-input, softmax_dim("softmin", input, options.dim()), options.dtype());
}
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options) {
  return tenon::log_softmax(input, softmax_dim("log_softmax", input, options.dim()),
                            options.dtype());
}

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options) {
  // -log(E) of a standard exponential E is Gumbel noise.
  const Tensor gumbels = -tenon::empty_like(logits).exponential_().log();
  const Tensor soft = ((logits + gumbels) / options.tau()).softmax(options.dim());
  if (!options.hard()) return soft;
  const Tensor index = std::get<1>(soft.max(options.dim(), true));
  const Tensor hard = tenon::zeros_like(logits).scatter_(options.dim(), index, 1.0);
  return hard - soft.detach() + soft;
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
