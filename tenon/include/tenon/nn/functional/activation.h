// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/activation.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

TENON_API Tensor elu(Tensor input, const ELUFuncOptions& options = {});
TENON_API Tensor selu(Tensor input, const SELUFuncOptions& options = {});
TENON_API Tensor celu(Tensor input, const CELUFuncOptions& options = {});
TENON_API Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
TENON_API Tensor glu(const Tensor& input, const GLUFuncOptions& options = {});
TENON_API Tensor silu(const Tensor& input);
TENON_API Tensor mish(const Tensor& input);
TENON_API Tensor relu(Tensor input, const ReLUFuncOptions& options = {});
TENON_API Tensor relu6(Tensor input, const ReLU6FuncOptions& options = {});
TENON_API Tensor rrelu(Tensor input, const RReLUFuncOptions& options = {});
TENON_API Tensor prelu(const Tensor& input, const Tensor& weight);
TENON_API Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options = {});
TENON_API Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& options = {});
TENON_API Tensor hardtanh(Tensor input, const HardtanhFuncOptions& options = {});
TENON_API Tensor hardswish(Tensor input, const HardswishFuncOptions& options = {});
TENON_API Tensor hardsigmoid(Tensor input, const HardsigmoidFuncOptions& options = {});
TENON_API Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options = {});
TENON_API Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& options = {});
TENON_API Tensor softsign(const Tensor& input);
TENON_API Tensor tanhshrink(const Tensor& input);
TENON_API Tensor threshold(Tensor input, const ThresholdFuncOptions& options);
TENON_API Tensor logsigmoid(const Tensor& input);
TENON_API Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options = {});
TENON_API Tensor softmin(const Tensor& input, const SoftminFuncOptions& options = {});
TENON_API Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options = {});
// A sample of a relaxed one-hot distribution whose logits are given.
TENON_API Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& options = {});

}  // namespace functional
}  // namespace nn
}  // namespace tenon
