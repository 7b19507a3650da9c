// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

// input W^T + bias; weight is [out, in].
TENON_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
// out[..., k] = input1 W[k] input2 + bias[k]; weight is [out, in1, in2].
TENON_API Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                          const Tensor& bias = {});

}  // namespace functional
}  // namespace nn
}  // namespace tenon
