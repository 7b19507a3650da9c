// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Batch normalization in parts, whose statistics can be of a batch that several processes share.
#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"
#include "tenon/ops/running_statistics.h"
#include "tenon/ops/wide.h"
#include "tenon/runtime/error.h"

namespace tenon::composite {
namespace {

void check_image(const char* op, const Tensor& input) {
  TENON_CHECK(isFloatingType(input.scalar_type()), TypeError, op,
              ": expected a floating input, got one of ", toString(input.scalar_type()));
  TENON_CHECK(input.dim() >= 2, ValueError, op, ": expected 2-D or larger input, got ", input.dim(),
              "-D input of shape ", input.sizes());
}

// All dimensions but that of the channels.
std::vector<int64_t> others(const Tensor& input) {
  std::vector<int64_t> dims{0};
  for (int64_t d = 2; d < input.dim(); ++d) dims.push_back(d);
  return dims;
}

int64_t count_per_channel(const Tensor& input) {
  const int64_t channels = input.size(1);
  return channels == 0 ? 0 : input.numel() / channels;
}

// [C] beside [N, C, ...].
Tensor of_channels(const Tensor& t, const Tensor& input) {
  std::vector<int64_t> sizes(static_cast<std::size_t>(input.dim()), 1);
  sizes[1] = t.numel();
  return t.reshape(sizes);
}

// running = (1 - momentum) * running + momentum * now; the variance is the unbiased one.
// Nothing is written before both are computed.
void take_in(const char* op, const std::optional<Tensor>& running_mean,
             const std::optional<Tensor>& running_var, const Tensor& mean,
             const Tensor& unbiased_var, double momentum) {
  check_running(op, running_mean, running_var, mean.numel(), /*written=*/true);
  const NoGradGuard unrecorded;
  const auto mixed = [&](const std::optional<Tensor>& running, const Tensor& now) {
    return given(running) ? (*running * (1 - momentum)).add(now, momentum) : Tensor();
  };
  const Tensor next_mean = mixed(running_mean, mean), next_var = mixed(running_var, unbiased_var);
  if (given(running_mean)) running_mean->copy_(next_mean);
  if (given(running_var)) running_var->copy_(next_var);
}

}  // namespace

std::tuple<Tensor, Tensor> batch_norm_stats(const Tensor& input, double eps) {
  check_image("batch_norm_stats", input);
  auto [var, mean] = tenon::var_mean(wide(input), others(input), /*unbiased=*/false);
  return {mean, (var + eps).rsqrt()};
}

std::tuple<Tensor, Tensor> batch_norm_update_stats(const Tensor& input,
                                                   const std::optional<Tensor>& running_mean,
                                                   const std::optional<Tensor>& running_var,
                                                   double momentum) {
  check_image("batch_norm_update_stats", input);
  auto [var, mean] = tenon::var_mean(wide(input), others(input), /*unbiased=*/false);
  const auto n = static_cast<double>(count_per_channel(input));
  take_in("batch_norm_update_stats", running_mean, running_var, mean, var * (n / (n - 1)),
          momentum);
  return {mean, var};
}

Tensor batch_norm_elemt(const Tensor& input, const std::optional<Tensor>& weight,
                        const std::optional<Tensor>& bias, const Tensor& mean, const Tensor& invstd,
                        double) {
  check_image("batch_norm_elemt", input);
  Tensor out = (wide(input) - of_channels(mean, input)) * of_channels(invstd, input);
  if (given(weight)) out = out * of_channels(*weight, input);
  if (given(bias)) out = out + of_channels(*bias, input);
  return out.to(input.scalar_type());
}

std::tuple<Tensor, Tensor> batch_norm_gather_stats(const Tensor& input, const Tensor& mean,
                                                   const Tensor& invstd,
                                                   const std::optional<Tensor>& running_mean,
                                                   const std::optional<Tensor>& running_var,
                                                   double momentum, double eps, int64_t count) {
  const Tensor counts = tenon::full({mean.size(0)}, count, mean.options());
  return tenon::batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var,
                                                    momentum, eps, counts);
}

// Chan, Golub and LeVeque: the squares of a whole are those of its parts about their means, and
// those of the means about the whole's.
std::tuple<Tensor, Tensor> batch_norm_gather_stats_with_counts(
    const Tensor&, const Tensor& mean, const Tensor& invstd,
    const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
    double momentum, double eps, const Tensor& counts) {
  const char* const op = "batch_norm_gather_stats_with_counts";
  TENON_CHECK(mean.dim() == 2 && mean.sizes() == invstd.sizes() && counts.numel() == mean.size(0),
              ValueError, op,
              ": expected mean and invstd of shape [parts, channels] and a count for "
              "each part, got ",
              mean.sizes(), ", ", invstd.sizes(), " and ", counts.sizes());
  const Tensor n = counts.to(mean.scalar_type()).reshape({-1, 1}), total = n.sum();
  const Tensor whole = (mean * n).sum(0) / total;
  const Tensor var = invstd.pow(-2) - eps, squares = ((var + (mean - whole).square()) * n).sum(0);
  take_in(op, running_mean, running_var, whole, squares / (total - 1), momentum);
  return {whole, (squares / total + eps).rsqrt()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_backward_reduce(
    const Tensor& grad_out, const Tensor& input, const Tensor& mean, const Tensor& invstd,
    const std::optional<Tensor>& weight, bool input_g, bool weight_g, bool bias_g) {
  check_image("batch_norm_backward_reduce", input);
  const Tensor grad = wide(grad_out), centered = wide(input) - of_channels(mean, input);
  const Tensor sum_dy = grad.sum(others(input)), sum_dy_xmu = (grad * centered).sum(others(input));
  const auto as_weight = [&](const Tensor& t) {
    return given(weight) ? t.to(weight->scalar_type()) : t;
  };
  return {input_g ? sum_dy : Tensor(), input_g ? sum_dy_xmu : Tensor(),
          weight_g ? as_weight(sum_dy_xmu * invstd) : Tensor(),
          bias_g ? as_weight(sum_dy) : Tensor()};
}

Tensor batch_norm_backward_elemt(const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                 const Tensor& invstd, const std::optional<Tensor>& weight,
                                 const Tensor& sum_dy, const Tensor& sum_dy_xmu,
                                 const Tensor& count) {
  check_image("batch_norm_backward_elemt", input);
  const Tensor total = count.sum().to(mean.scalar_type());
  const Tensor centered = wide(input) - of_channels(mean, input);
  const Tensor slope = of_channels(sum_dy_xmu * invstd.square() / total, input);
  Tensor grad = wide(grad_out) - of_channels(sum_dy / total, input) - centered * slope;
  Tensor scale = invstd;
  if (given(weight)) scale = scale * *weight;
  return (grad * of_channels(scale, input)).to(input.scalar_type());
}

}  // namespace tenon::composite
