// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/normalization.h"

#include "tenon/nn/functional/optional_tensor.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/runtime/error.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  const bool one_each = input.dim() > 1 && input.numel() > 0 && input.numel() == input.size(1);
  TENON_CHECK(!options.training() || !one_each, ValueError,
              "batch_norm: needs more than one value per channel in training, input ",
              input.sizes());
  return tenon::batch_norm(input, optional_tensor(options.weight()),
                           optional_tensor(options.bias()), optional_tensor(running_mean),
                           optional_tensor(running_var), options.training(),
                           options.momentum().value_or(0.0), options.eps(), true);
}

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options) {
  return tenon::instance_norm(
      input, optional_tensor(options.weight()), optional_tensor(options.bias()),
      optional_tensor(options.running_mean()), optional_tensor(options.running_var()),
      options.use_input_stats(), options.momentum(), options.eps(), true);
}

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options) {
  return tenon::layer_norm(input, options.normalized_shape(), optional_tensor(options.weight()),
                           optional_tensor(options.bias()), options.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options) {
  return tenon::group_norm(input, options.num_groups(), optional_tensor(options.weight()),
                           optional_tensor(options.bias()), options.eps());
}

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options) {
  return tenon::local_response_norm(input, options.size(), options.alpha(), options.beta(),
                                    options.k());
}

Tensor normalize(const Tensor& input, NormalizeFuncOptions options) {
  const Tensor made = composite::normalize(input, options.p(), options.dim(), options.eps());
  return options.out() ? options.out()->copy_(made) : made;
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
