// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tenon/arg.h"
#include "tenon/expanding_array.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

template <std::size_t D>
struct AvgPoolOptions {
  AvgPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Step of the window; the default is its size.
  TENON_ARG(ExpandingArray<D>, stride);
  // Border on both sides.
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  // Whether a last, partial window counts.
  TENON_ARG(bool, ceil_mode) = false;
  // Whether the border counts in the mean.
  TENON_ARG(bool, count_include_pad) = true;
  // Divisor instead of the size of the window; 2d and 3d only.
  TENON_ARG(std::optional<int64_t>, divisor_override) = std::nullopt;
};
using AvgPool1dOptions = AvgPoolOptions<1>;
using AvgPool2dOptions = AvgPoolOptions<2>;
using AvgPool3dOptions = AvgPoolOptions<3>;

template <std::size_t D>
struct MaxPoolOptions {
  MaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size), stride_(kernel_size) {}
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Step of the window; the default is its size.
  TENON_ARG(ExpandingArray<D>, stride);
  // Border on both sides.
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  // Distance between elements of the window.
  TENON_ARG(ExpandingArray<D>, dilation) = 1;
  // Whether a last, partial window counts.
  TENON_ARG(bool, ceil_mode) = false;
};
using MaxPool1dOptions = MaxPoolOptions<1>;
using MaxPool2dOptions = MaxPoolOptions<2>;
using MaxPool3dOptions = MaxPoolOptions<3>;

template <class OutputSize>
struct AdaptiveMaxPoolOptions {
  AdaptiveMaxPoolOptions(OutputSize output_size) : output_size_(output_size) {}
  // Size of the result; nullopt in a dimension keeps the input's.
  TENON_ARG(OutputSize, output_size);
};
using AdaptiveMaxPool1dOptions = AdaptiveMaxPoolOptions<ExpandingArray<1>>;
using AdaptiveMaxPool2dOptions = AdaptiveMaxPoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveMaxPool3dOptions = AdaptiveMaxPoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <class OutputSize>
struct AdaptiveAvgPoolOptions {
  AdaptiveAvgPoolOptions(OutputSize output_size) : output_size_(output_size) {}
  // Size of the result; nullopt in a dimension keeps the input's.
  TENON_ARG(OutputSize, output_size);
};
using AdaptiveAvgPool1dOptions = AdaptiveAvgPoolOptions<ExpandingArray<1>>;
using AdaptiveAvgPool2dOptions = AdaptiveAvgPoolOptions<ExpandingArrayWithOptionalElem<2>>;
using AdaptiveAvgPool3dOptions = AdaptiveAvgPoolOptions<ExpandingArrayWithOptionalElem<3>>;

template <std::size_t D>
struct MaxUnpoolOptions {
  MaxUnpoolOptions(ExpandingArray<D> kernel_size)
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Step of the window; the default is its size.
  TENON_ARG(ExpandingArray<D>, stride);
  // Border on both sides.
  TENON_ARG(ExpandingArray<D>, padding) = 0;
};
using MaxUnpool1dOptions = MaxUnpoolOptions<1>;
using MaxUnpool2dOptions = MaxUnpoolOptions<2>;
using MaxUnpool3dOptions = MaxUnpoolOptions<3>;

template <std::size_t D>
struct LPPoolOptions {
  LPPoolOptions(double norm_type, ExpandingArray<D> kernel_size)
      : norm_type_(norm_type), kernel_size_(kernel_size), stride_(kernel_size) {}
  // The p of the norm.
  TENON_ARG(double, norm_type);
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Step of the window; the default is its size.
  TENON_ARG(ExpandingArray<D>, stride);
  // Whether a last, partial window counts.
  TENON_ARG(bool, ceil_mode) = false;
};
using LPPool1dOptions = LPPoolOptions<1>;
using LPPool2dOptions = LPPoolOptions<2>;
using LPPool3dOptions = LPPoolOptions<3>;

template <std::size_t D>
struct FractionalMaxPoolOptions {
  FractionalMaxPoolOptions(ExpandingArray<D> kernel_size) : kernel_size_(kernel_size) {}
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Spatial size of the result; or else output_ratio.
  TENON_ARG(std::optional<ExpandingArray<D>>, output_size) = std::nullopt;
  using ExpandingArrayDouble = ExpandingArray<D, double>;
  // Spatial size of the result by that of the input, between 0 and 1; or else output_size.
  TENON_ARG(std::optional<ExpandingArrayDouble>, output_ratio) = std::nullopt;
  // Where windows begin, [batch, channels, D] from 0 to 1; drawn at each call if undefined.
  TENON_ARG(Tensor, _random_samples) = Tensor();
};
using FractionalMaxPool2dOptions = FractionalMaxPoolOptions<2>;
using FractionalMaxPool3dOptions = FractionalMaxPoolOptions<3>;

namespace functional {
using AvgPool1dFuncOptions = AvgPool1dOptions;
using AvgPool2dFuncOptions = AvgPool2dOptions;
using AvgPool3dFuncOptions = AvgPool3dOptions;
using MaxPool1dFuncOptions = MaxPool1dOptions;
using MaxPool2dFuncOptions = MaxPool2dOptions;
using MaxPool3dFuncOptions = MaxPool3dOptions;
using AdaptiveMaxPool1dFuncOptions = AdaptiveMaxPool1dOptions;
using AdaptiveMaxPool2dFuncOptions = AdaptiveMaxPool2dOptions;
using AdaptiveMaxPool3dFuncOptions = AdaptiveMaxPool3dOptions;
using AdaptiveAvgPool1dFuncOptions = AdaptiveAvgPool1dOptions;
using AdaptiveAvgPool2dFuncOptions = AdaptiveAvgPool2dOptions;
using AdaptiveAvgPool3dFuncOptions = AdaptiveAvgPool3dOptions;
using LPPool1dFuncOptions = LPPool1dOptions;
using LPPool2dFuncOptions = LPPool2dOptions;
using LPPool3dFuncOptions = LPPool3dOptions;
using FractionalMaxPool2dFuncOptions = FractionalMaxPool2dOptions;
using FractionalMaxPool3dFuncOptions = FractionalMaxPool3dOptions;

template <std::size_t D>
struct MaxUnpoolFuncOptions {
  MaxUnpoolFuncOptions(ExpandingArray<D> kernel_size)
      : kernel_size_(kernel_size), stride_(kernel_size) {}
  // Size of the window.
  TENON_ARG(ExpandingArray<D>, kernel_size);
  // Step of the window; the default is its size.
  TENON_ARG(ExpandingArray<D>, stride);
  // Border on both sides.
  TENON_ARG(ExpandingArray<D>, padding) = 0;
  // Spatial size of the result where several fit.
  TENON_ARG(std::optional<std::vector<int64_t>>, output_size) = std::nullopt;
};
using MaxUnpool1dFuncOptions = MaxUnpoolFuncOptions<1>;
using MaxUnpool2dFuncOptions = MaxUnpoolFuncOptions<2>;
using MaxUnpool3dFuncOptions = MaxUnpoolFuncOptions<3>;
}  // namespace functional

}  // namespace nn
}  // namespace tenon
