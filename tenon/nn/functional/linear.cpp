// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/linear.h"

#include "tenon/nn/functional/optional_tensor.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return tenon::linear(input, weight, optional_tensor(bias));
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  return tenon::bilinear(input1, input2, weight, optional_tensor(bias));
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
