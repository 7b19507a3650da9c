// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Products with an epilogue, as the operators that they stand for.
#include "tenon/ops/activation.h"
#include "tenon/ops/decomp/decomp.h"

namespace tenon::decomp {
namespace {

Tensor finished(const Tensor& product, const std::optional<Tensor>& other, std::string_view name,
                ArrayRef<double> parameters) {
  const bool add = other && other->defined();
  return activated(add ? product + *other : product, name, parameters);
}

}  // namespace

Tensor _conv_epilogue(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                      const std::optional<Tensor>& other, IntArrayRef stride, IntArrayRef padding,
                      IntArrayRef dilation, int64_t groups, std::string_view activation,
                      ArrayRef<double> parameters) {
  const bool image = input.dim() + 1 == weight.dim();
  const Tensor y = tenon::convolution(image ? input.unsqueeze(0) : input, weight, bias, stride,
                                      padding, dilation, false, {0}, groups);
  return finished(image ? y.squeeze(0) : y, other, activation, parameters);
}

Tensor _linear_epilogue(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, const std::optional<Tensor>& other,
                        std::string_view activation, ArrayRef<double> parameters) {
  return finished(tenon::linear(input, weight, bias), other, activation, parameters);
}

}  // namespace tenon::decomp
