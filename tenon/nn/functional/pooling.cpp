// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/pooling.h"

#include <array>

#include "tenon/ops.h"
#include "tenon/ops/composite.gen.h"

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
  return composite::lp_pool1d(input, options.norm_type(), options.kernel_size(), options.stride(),
                              options.ceil_mode());
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
  return composite::lp_pool2d(input, options.norm_type(), options.kernel_size(), options.stride(),
                              options.ceil_mode());
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
  return composite::lp_pool3d(input, options.norm_type(), options.kernel_size(), options.stride(),
                              options.ceil_mode());
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
