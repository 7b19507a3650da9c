// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "tenon/arg.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  // Sizes of the last dimensions, over which one normalizes.
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
  // Whether a learned weight and bias are applied per element of normalized_shape.
  TENON_ARG(bool, elementwise_affine) = true;
  // Whether affine includes the bias.
  TENON_ARG(bool, bias) = true;
};

struct RMSNormOptions {
  RMSNormOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  // Sizes of the last dimensions, over which one normalizes.
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  // Added to the mean square; nullopt is the epsilon of the input's dtype.
  TENON_ARG(std::optional<double>, eps) = std::nullopt;
  // Whether a learned weight is applied.
  TENON_ARG(bool, elementwise_affine) = true;
};

struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  // Window of neighboring channels.
  TENON_ARG(int64_t, size);
  // Factor of the mean square.
  TENON_ARG(double, alpha) = 1e-4;
  // Exponent.
  TENON_ARG(double, beta) = 0.75;
  // Added before the power.
  TENON_ARG(double, k) = 1.0;
};

struct CrossMapLRN2dOptions {
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  // Window of neighboring channels; an even one takes one fewer.
  TENON_ARG(int64_t, size);
  // Factor of the sum of squares, divided by the size.
  TENON_ARG(double, alpha) = 1e-4;
  // Exponent.
  TENON_ARG(double, beta) = 0.75;
  // Added before the power.
  TENON_ARG(int64_t, k) = 1;
};

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels)
      : num_groups_(num_groups), num_channels_(num_channels) {}
  // Groups that the channels are split into.
  TENON_ARG(int64_t, num_groups);
  // Channels: the size of dimension 1.
  TENON_ARG(int64_t, num_channels);
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
  // Whether a learned weight and bias are applied per channel.
  TENON_ARG(bool, affine) = true;
  // Whether affine includes the bias.
  TENON_ARG(bool, bias) = true;
};

namespace functional {
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  // Sizes of the last dimensions, over which one normalizes.
  TENON_ARG(std::vector<int64_t>, normalized_shape);
  // Factor; may be undefined.
  TENON_ARG(Tensor, weight);
  // Summand; may be undefined.
  TENON_ARG(Tensor, bias);
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
};

struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  // Groups that the channels are split into.
  TENON_ARG(int64_t, num_groups);
  // Factor per channel; may be undefined.
  TENON_ARG(Tensor, weight);
  // Summand per channel; may be undefined.
  TENON_ARG(Tensor, bias);
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
};

struct NormalizeFuncOptions {
  // The p of the norm.
  TENON_ARG(double, p) = 2.0;
  // Dimension whose slices get norm 1.
  TENON_ARG(int64_t, dim) = 1;
  // Smallest divisor.
  TENON_ARG(double, eps) = 1e-12;
  // Where to write the result; not differentiable then.
  TENON_ARG(std::optional<Tensor>, out) = std::nullopt;
};

using LocalResponseNormFuncOptions = LocalResponseNormOptions;
}  // namespace functional

}  // namespace nn
}  // namespace tenon
