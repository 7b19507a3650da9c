// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Normalization over the fused operators.
#include "tenon/core/sizes.h"
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/running_statistics.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

std::optional<Tensor> repeated(const std::optional<Tensor>& t, int64_t times) {
  if (!given(t)) return std::nullopt;
  return t->repeat({times});
}

void check_statistics(const std::optional<Tensor>& mean, const std::optional<Tensor>& var) {
  TENON_CHECK(given(mean) && given(var), ValueError,
              "batch_norm: running_mean and running_var must be given in evaluation");
}

// Whether the input is of 16 bits and a parameter of 32, as under autocast. Then the parameters'
// dtype is computed in, and the result is of the input's.
bool is_narrower(const Tensor& input, const std::optional<Tensor>& parameter) {
  const ScalarType t = input.scalar_type();
  return (t == kHalf || t == kBFloat16) && given(parameter) && parameter->scalar_type() == kFloat;
}

// Of a batch without elements, whose statistics do not exist: parameters get gradients of zero, and
// running statistics stay.
Tensor without_elements(const Tensor& input, const std::optional<Tensor>& weight,
                        const std::optional<Tensor>& bias) {
  Tensor out = input.clone();
  if (given(weight) && weight->numel() > 0) out = out * weight->select(0, 0);
  return given(bias) && bias->numel() > 0 ? out + bias->select(0, 0) : out;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias,
                                                     const std::optional<Tensor>& running_mean,
                                                     const std::optional<Tensor>& running_var,
                                                     bool training, double momentum, double eps) {
  if (training)
    return tenon::_batch_norm_train(input, weight, bias, running_mean, running_var, momentum, eps);
  check_statistics(running_mean, running_var);
  const Tensor out = tenon::_batch_norm_eval(input, weight, bias, *running_mean, *running_var, eps);
  return {out, tenon::empty({0}, input.options()), tenon::empty({0}, input.options())};
}

Tensor batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                  const std::optional<Tensor>& running_var, bool training, double momentum,
                  double eps, bool cudnn_enabled) {
  if (is_narrower(input, weight) || is_narrower(input, running_mean))
    return tenon::batch_norm(input.to(kFloat), weight, bias, running_mean, running_var, training,
                             momentum, eps, cudnn_enabled)
        .to(input.scalar_type());
  if (input.numel() == 0) return without_elements(input, weight, bias);
  if (training) {
    return std::get<0>(
        tenon::_batch_norm_train(input, weight, bias, running_mean, running_var, momentum, eps));
  }
  check_statistics(running_mean, running_var);
  return tenon::_batch_norm_eval(input, weight, bias, *running_mean, *running_var, eps);
}

// Images and channels become channels of one batch. Running statistics are those of copies,
// averaged over images.
Tensor instance_norm(const Tensor& input, const std::optional<Tensor>& weight,
                     const std::optional<Tensor>& bias, const std::optional<Tensor>& running_mean,
                     const std::optional<Tensor>& running_var, bool use_input_stats,
                     double momentum, double eps, bool cudnn_enabled) {
  TENON_CHECK(use_input_stats || (given(running_mean) && given(running_var)), ValueError,
              "instance_norm: running_mean and running_var must be given unless the input's "
              "statistics are used");
  TENON_CHECK(input.dim() >= 2, ValueError, "instance_norm: expected 2-D or larger input, got ",
              input.dim(), "-D input of shape ", input.sizes());
  check_running("instance_norm", running_mean, running_var, input.size(1), use_input_stats);
  const int64_t n = input.size(0), channels = input.size(1);
  std::vector<int64_t> shape = input.sizes().vec();
  shape[0] = 1;
  shape[1] = n * channels;
  const auto mean = repeated(running_mean, n), var = repeated(running_var, n);
  const Tensor out =
      tenon::batch_norm(input.contiguous().view(shape), repeated(weight, n), repeated(bias, n),
                        mean, var, use_input_stats, momentum, eps, cudnn_enabled);
  if (use_input_stats) {
    const auto average = [&](const std::optional<Tensor>& running,
                             const std::optional<Tensor>& all) {
      if (given(running)) running->copy_(all->view({n, channels}).mean({0}, false));
    };
    NoGradGuard no_grad;
    average(running_mean, mean);
    average(running_var, var);
  }
  return out.view(input.sizes());
}

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  double eps, bool cudnn_enable) {
  if (is_narrower(input, weight) || is_narrower(input, bias))
    return tenon::layer_norm(input.to(kFloat), normalized_shape, weight, bias, eps, cudnn_enable)
        .to(input.scalar_type());
  return std::get<0>(tenon::native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps, bool cudnn_enabled) {
  if (is_narrower(input, weight) || is_narrower(input, bias))
    return tenon::group_norm(input.to(kFloat), num_groups, weight, bias, eps, cudnn_enabled)
        .to(input.scalar_type());
  TENON_CHECK(input.dim() >= 2, IndexError, "group_norm: expected 2-D or larger input, got ",
              input.dim(), "-D input of shape ", input.sizes());
  const int64_t n = input.size(0), channels = input.size(1);
  int64_t plane = 1;
  for (int64_t d = 2; d < input.dim(); ++d) plane *= input.size(d);
  TENON_CHECK(channels > 0, ValueError, "group_norm: expected at least one channel, got ",
              input.sizes());
  TENON_CHECK(num_groups > 0 && channels % num_groups == 0, ValueError,
              "group_norm: the number of channels ", channels,
              " must be a multiple of the number of groups ", num_groups);
  TENON_CHECK(n == 0 || channels * plane > 0, ValueError,
              "group_norm: expected values in every group, input ", input.sizes());
  return std::get<0>(
      tenon::native_group_norm(input, weight, bias, n, channels, plane, num_groups, eps));
}

Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape,
                const std::optional<Tensor>& weight, std::optional<double> eps) {
  if (!input.is_complex() && !(given(weight) && weight->is_complex()))
    return std::get<0>(tenon::_fused_rms_norm(input, normalized_shape, weight, eps));
  const int64_t n = static_cast<int64_t>(normalized_shape.size()), leading = input.dim() - n;
  TENON_CHECK(n > 0 && leading >= 0 &&
                  input.sizes().slice(static_cast<std::size_t>(leading)) == normalized_shape,
              ValueError, "rms_norm: normalized_shape ", normalized_shape,
              " must be the last sizes of the input, at least one, got ", input.sizes());
  TENON_CHECK(!given(weight) || weight->sizes() == normalized_shape, ValueError,
              "rms_norm: weight must have shape ", normalized_shape, ", got ", weight->sizes());
  std::vector<int64_t> dims;
  for (int64_t d = leading; d < input.dim(); ++d) dims.push_back(d);
  const Tensor x = wide(input);
  const double floor = eps_or_default(eps, input.scalar_type());
  Tensor out = x * ((x * x).mean(dims, true) + floor).rsqrt();
  if (given(weight)) out = out * wide(*weight);
  return rounded(out, input);
}

Tensor local_response_norm(const Tensor& input, int64_t size, double alpha, double beta, double k) {
  TENON_CHECK(input.dim() >= 3, ValueError,
              "local_response_norm: expected 3-D or larger input, got ", input.dim(), "-D");
  TENON_CHECK(size > 0, ValueError, "local_response_norm: argument 'size' must be positive, got ",
              size);
  const int64_t n = input.size(0), channels = input.size(1);
  if (input.numel() == 0) return input;
  // Channels become the dimension that the window moves over.
  const Tensor x = wide(input), squares = (x * x).reshape({n, 1, channels, -1});
  const Tensor padded = tenon::constant_pad_nd(squares, {0, 0, size / 2, (size - 1) / 2});
  const Tensor mean = tenon::avg_pool2d(padded, {size, 1}, {1, 1}).reshape(input.sizes());
  return rounded(x / (mean * alpha + k).pow(beta), input);
}

}  // namespace tenon::composite
