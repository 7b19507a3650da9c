// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tenon/arg.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {

struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  // Channels: the size of dimension 1.
  TENON_ARG(int64_t, num_features);
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
  // Share of the new batch in the running statistics; nullopt keeps the plain mean over all
  // batches.
  TENON_ARG(std::optional<double>, momentum) = 0.1;
  // Whether a learned weight and bias are applied per channel.
  TENON_ARG(bool, affine) = true;
  // Whether running statistics are kept and used in evaluation.
  TENON_ARG(bool, track_running_stats) = true;
  // Whether affine includes the bias.
  TENON_ARG(bool, bias) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

struct InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
  // Channels: the size of dimension 1, or of dimension 0 of an input without batch.
  TENON_ARG(int64_t, num_features);
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
  // Share of the new batch in the running statistics.
  TENON_ARG(double, momentum) = 0.1;
  // Whether a learned weight and bias are applied per channel.
  TENON_ARG(bool, affine) = false;
  // Whether running statistics are kept and used in evaluation.
  TENON_ARG(bool, track_running_stats) = false;
  // Whether affine includes the bias.
  TENON_ARG(bool, bias) = true;
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;

namespace functional {
struct BatchNormFuncOptions {
  // Factor per channel; may be undefined.
  TENON_ARG(Tensor, weight);
  // Summand per channel; may be undefined.
  TENON_ARG(Tensor, bias);
  // Whether the statistics of the batch are used, and the running ones updated.
  TENON_ARG(bool, training) = false;
  // Share of the new batch in the running statistics.
  TENON_ARG(std::optional<double>, momentum) = 0.1;
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
};

struct InstanceNormFuncOptions {
  // Running mean; may be undefined.
  TENON_ARG(Tensor, running_mean);
  // Running variance; may be undefined.
  TENON_ARG(Tensor, running_var);
  // Factor per channel; may be undefined.
  TENON_ARG(Tensor, weight);
  // Summand per channel; may be undefined.
  TENON_ARG(Tensor, bias);
  // false: the running statistics are used.
  TENON_ARG(bool, use_input_stats) = true;
  // Share of the new batch in the running statistics.
  TENON_ARG(double, momentum) = 0.1;
  // Added to the variance.
  TENON_ARG(double, eps) = 1e-5;
};
}  // namespace functional

}  // namespace nn
}  // namespace tenon
