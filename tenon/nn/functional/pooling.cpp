// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/pooling.h"

#include <array>

#include "tenon/core/sizes.h"
#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

namespace {

// nullopt keeps the size of the input.
template <std::size_t D>
std::array<int64_t, D> output_sizes(const Tensor& input,
                                    const ExpandingArrayWithOptionalElem<D>& wanted) {
  std::array<int64_t, D> out;
  for (std::size_t i = 0; i < D; ++i) {
    const auto& w = (*wanted)[i];
    out[i] = w ? *w : input.size(static_cast<int64_t>(i) - static_cast<int64_t>(D));
  }
  return out;
}

// The elements of a window.
template <std::size_t D>
int64_t window_elements(const char* name, const ExpandingArray<D>& kernel_size) {
  return core::product(kernel_size->data(), static_cast<int64_t>(D)).get(name, "kernel_size");
}

// (sum of x^p over a window)^(1/p), from the mean over the window.
Tensor p_norm(const Tensor& mean, double p, int64_t elements) {
  return (mean.sign() * tenon::relu(mean.abs())).mul(elements).pow(1.0 / p);
}

}  // namespace

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options) {
  return tenon::avg_pool1d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad());
}

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return tenon::max_pool1d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input,
                                                   const MaxPool1dFuncOptions& options) {
  return tenon::max_pool1d_with_indices(input, options.kernel_size(), options.stride(),
                                        options.padding(), options.dilation(), options.ceil_mode());
}

Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options) {
  return tenon::adaptive_avg_pool1d(input, options.output_size());
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(
    const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options) {
  return tenon::adaptive_max_pool1d(input, options.output_size());
}

Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, options));
}

Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options) {
  const int64_t elements = window_elements("lp_pool1d", options.kernel_size());
  const Tensor powers = input.pow(options.norm_type());
  const Tensor mean =
      tenon::avg_pool1d(powers, options.kernel_size(), options.stride(), 0, options.ceil_mode());
  return p_norm(mean, options.norm_type(), elements);
}

Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options) {
  return tenon::avg_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad(),
                           options.divisor_override());
}

Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return tenon::max_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input,
                                                   const MaxPool2dFuncOptions& options) {
  return tenon::max_pool2d_with_indices(input, options.kernel_size(), options.stride(),
                                        options.padding(), options.dilation(), options.ceil_mode());
}

Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options) {
  return tenon::adaptive_avg_pool2d(input, output_sizes(input, options.output_size()));
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(
    const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options) {
  return tenon::adaptive_max_pool2d(input, output_sizes(input, options.output_size()));
}

Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, options));
}

Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options) {
  const int64_t elements = window_elements("lp_pool2d", options.kernel_size());
  const Tensor powers = input.pow(options.norm_type());
  const Tensor mean =
      tenon::avg_pool2d(powers, options.kernel_size(), options.stride(), 0, options.ceil_mode());
  return p_norm(mean, options.norm_type(), elements);
}

Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& options) {
  return tenon::avg_pool3d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.ceil_mode(), options.count_include_pad(),
                           options.divisor_override());
}

Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& options) {
  return tenon::max_pool3d(input, options.kernel_size(), options.stride(), options.padding(),
                           options.dilation(), options.ceil_mode());
}

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input,
                                                   const MaxPool3dFuncOptions& options) {
  return tenon::max_pool3d_with_indices(input, options.kernel_size(), options.stride(),
                                        options.padding(), options.dilation(), options.ceil_mode());
}

Tensor adaptive_avg_pool3d(const Tensor& input, const AdaptiveAvgPool3dFuncOptions& options) {
  return tenon::adaptive_avg_pool3d(input, output_sizes(input, options.output_size()));
}

std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(
    const Tensor& input, const AdaptiveMaxPool3dFuncOptions& options) {
  return tenon::adaptive_max_pool3d(input, output_sizes(input, options.output_size()));
}

Tensor adaptive_max_pool3d(const Tensor& input, const AdaptiveMaxPool3dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool3d_with_indices(input, options));
}

Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options) {
  const int64_t elements = window_elements("lp_pool3d", options.kernel_size());
  const Tensor powers = input.pow(options.norm_type());
  const Tensor mean =
      tenon::avg_pool3d(powers, options.kernel_size(), options.stride(), 0, options.ceil_mode());
  return p_norm(mean, options.norm_type(), elements);
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
