// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/batchnorm.h"
#include "tenon/nn/options/normalization.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

// Updates running_mean and running_var in place when training.
TENON_API Tensor batch_norm(const Tensor& input, const Tensor& running_mean,
                            const Tensor& running_var, const BatchNormFuncOptions& options = {});
TENON_API Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options = {});
TENON_API Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
TENON_API Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
TENON_API Tensor local_response_norm(const Tensor& input,
                                     const LocalResponseNormFuncOptions& options);
// Slices along dim divided by their norm.
TENON_API Tensor normalize(const Tensor& input, NormalizeFuncOptions options = {});

}  // namespace functional
}  // namespace nn
}  // namespace tenon
