// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/normalization.h"

#include <vector>

#include "optional_tensor.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  if (options.training()) {
    int64_t values = 1;
    for (int64_t d = 0; d < input.dim(); ++d) values *= d == 1 ? 1 : input.size(d);
    TENON_CHECK(values != 1, ValueError, "batch norm needs more than one value per channel in training, input ",
                input.sizes());
  }
  return tenon::batch_norm(input, optional_tensor(options.weight()), optional_tensor(options.bias()),
                           optional_tensor(running_mean), optional_tensor(running_var), options.training(),
                           options.momentum().value_or(0.0), options.eps(), true);
}

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options) {
  return tenon::instance_norm(input, optional_tensor(options.weight()), optional_tensor(options.bias()),
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
  TENON_CHECK(input.dim() >= 3, ValueError, "local_response_norm: expected 3-D or larger input, got ", input.dim(),
              "-D");
  // A running mean of squares over `size` channels; the border counts as zeros.
  const int64_t size = options.size();
  std::vector<int64_t> flat = {input.size(0), 1, input.size(1), -1};
  if (input.numel() == 0) return input;
  Tensor squares = (input * input).reshape(flat);
  squares = tenon::constant_pad_nd(squares, {0, 0, size / 2, (size - 1) / 2}, 0);
  squares = tenon::avg_pool2d(squares, {size, 1}, 1).reshape(input.sizes());
  return input / (squares * options.alpha() + options.k()).pow(options.beta());
}

Tensor normalize(const Tensor& input, NormalizeFuncOptions options) {
  const Tensor norm = input.norm(options.p(), {options.dim()}, true).clamp_min(options.eps());
  if (options.out()) return options.out()->copy_(input / norm);
  return input / norm;
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
