// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tenon/arg.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

struct ELUOptions {
  // Scale of the negative part.
  TENON_ARG(double, alpha) = 1.0;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  // Dimension that is halved; its size must be even.
  TENON_ARG(int64_t, dim) = -1;
};

struct GELUOptions {
  // "none", or "tanh" for the approximation by tanh.
  TENON_ARG(std::string, approximate) = "none";
};

struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  // Values within [-lambda, lambda] become zero.
  TENON_ARG(double, lambda) = 0.5;
};

struct HardtanhOptions {
  // Smallest result.
  TENON_ARG(double, min_val) = -1.0;
  // Largest result.
  TENON_ARG(double, max_val) = 1.0;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct LeakyReLUOptions {
  // Slope of the negative part.
  TENON_ARG(double, negative_slope) = 1e-2;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

// The dimension of a softmax that was given none: 0 of inputs with 0, 1 or 3 dimensions, else 1.
// forward warns ("user") that the choice was implicit.
inline constexpr int64_t kImplicitDim = std::numeric_limits<int64_t>::min();

struct SoftmaxOptions {
  SoftmaxOptions() = default;
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  // Dimension along which the results sum to one.
  TENON_ARG(int64_t, dim) = kImplicitDim;
};

struct SoftminOptions {
  SoftminOptions() = default;
  SoftminOptions(int64_t dim) : dim_(dim) {}
  // Dimension along which the results sum to one.
  TENON_ARG(int64_t, dim) = kImplicitDim;
};

struct LogSoftmaxOptions {
  LogSoftmaxOptions() = default;
  LogSoftmaxOptions(int64_t dim) : dim_(dim) {}
  // Dimension along which the results sum to one.
  TENON_ARG(int64_t, dim) = kImplicitDim;
};

struct PReLUOptions {
  // One slope for all, or one per channel.
  TENON_ARG(int64_t, num_parameters) = 1;
  // Slope to begin with.
  TENON_ARG(double, init) = 0.25;
};

struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct ReLU6Options {
  ReLU6Options(bool inplace = false) : inplace_(inplace) {}
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct HardswishOptions {
  HardswishOptions(bool inplace = false) : inplace_(inplace) {}
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct HardsigmoidOptions {
  HardsigmoidOptions(bool inplace = false) : inplace_(inplace) {}
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct RReLUOptions {
  // Smallest slope that is drawn.
  TENON_ARG(double, lower) = 1.0 / 8.0;
  // Largest slope that is drawn.
  TENON_ARG(double, upper) = 1.0 / 3.0;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct CELUOptions {
  // Scale of the negative part.
  TENON_ARG(double, alpha) = 1.0;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct SoftplusOptions {
  // Steepness.
  TENON_ARG(double, beta) = 1.0;
  // Where beta * x is above this, the result is x.
  TENON_ARG(double, threshold) = 20.0;
};

struct SoftshrinkOptions {
  SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  // Values move towards zero by this much.
  TENON_ARG(double, lambda) = 0.5;
};

struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  // Values that are not above this are replaced.
  TENON_ARG(double, threshold);
  // What replaces them.
  TENON_ARG(double, value);
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  // Size of a query and of a result.
  TENON_ARG(int64_t, embed_dim);
  // Heads; they divide embed_dim.
  TENON_ARG(int64_t, num_heads);
  // Probability that a weight of the attention is dropped.
  TENON_ARG(double, dropout) = 0.0;
  // Whether the projections add a bias.
  TENON_ARG(bool, bias) = true;
  // Whether a learned key and value are appended.
  TENON_ARG(bool, add_bias_kv) = false;
  // Whether a zero key and value are appended.
  TENON_ARG(bool, add_zero_attn) = false;
  // Size of a key.
  TENON_ARG(int64_t, kdim);
  // Size of a value.
  TENON_ARG(int64_t, vdim);
  // Whether batches come first: [batch, time, feature] instead of [time, batch, feature].
  TENON_ARG(bool, batch_first) = false;
};

namespace functional {
using ELUFuncOptions = ELUOptions;
using SELUFuncOptions = SELUOptions;
using GLUFuncOptions = GLUOptions;
using GELUFuncOptions = GELUOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using HardtanhFuncOptions = HardtanhOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using CELUFuncOptions = CELUOptions;
using SoftplusFuncOptions = SoftplusOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using ThresholdFuncOptions = ThresholdOptions;
using HardswishFuncOptions = HardswishOptions;
using HardsigmoidFuncOptions = HardsigmoidOptions;

struct SoftmaxFuncOptions {
  SoftmaxFuncOptions() = default;
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  // Dimension along which the results sum to one.
  TENON_ARG(int64_t, dim) = kImplicitDim;
  // The input is converted to this first.
  TENON_ARG(std::optional<Dtype>, dtype) = std::nullopt;
};

struct SoftminFuncOptions {
  SoftminFuncOptions() = default;
  SoftminFuncOptions(int64_t dim) : dim_(dim) {}
  // Dimension along which the results sum to one.
  TENON_ARG(int64_t, dim) = kImplicitDim;
  // The input is converted to this first.
  TENON_ARG(std::optional<Dtype>, dtype) = std::nullopt;
};

struct LogSoftmaxFuncOptions {
  LogSoftmaxFuncOptions() = default;
  LogSoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  // Dimension along which the results sum to one.
  TENON_ARG(int64_t, dim) = kImplicitDim;
  // The input is converted to this first.
  TENON_ARG(std::optional<Dtype>, dtype) = std::nullopt;
};

struct RReLUFuncOptions {
  // Smallest slope that is drawn.
  TENON_ARG(double, lower) = 1.0 / 8.0;
  // Largest slope that is drawn.
  TENON_ARG(double, upper) = 1.0 / 3.0;
  // false: the slope is the mean of lower and upper.
  TENON_ARG(bool, training) = false;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};

struct GumbelSoftmaxFuncOptions {
  // Temperature.
  TENON_ARG(double, tau) = 1.0;
  // Whether the result is one-hot, with the gradient of the soft sample.
  TENON_ARG(bool, hard) = false;
  // Dimension along which the results sum to one.
  TENON_ARG(int, dim) = -1;
};
}  // namespace functional

}  // namespace nn
}  // namespace tenon
