// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Fills tensors in place, without recording. Each returns its argument.
#pragma once

#include <tuple>

#include "tenon/enum.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace init {

using NonlinearityType =
    enumtype::OneOf<enumtype::kLinear, enumtype::kConv1D, enumtype::kConv2D, enumtype::kConv3D,
                    enumtype::kConvTranspose1D, enumtype::kConvTranspose2D,
                    enumtype::kConvTranspose3D, enumtype::kSigmoid, enumtype::kTanh,
                    enumtype::kReLU, enumtype::kLeakyReLU, enumtype::kSELU>;
using FanModeType = enumtype::OneOf<enumtype::kFanIn, enumtype::kFanOut>;

// By how much a nonlinearity shrinks the deviation; param is the slope of kLeakyReLU.
TENON_API double calculate_gain(NonlinearityType nonlinearity, double param = 0.01);

TENON_API Tensor constant_(Tensor tensor, Scalar value);
TENON_API Tensor ones_(Tensor tensor);
TENON_API Tensor zeros_(Tensor tensor);
// The identity, in a 2-D tensor.
TENON_API Tensor eye_(Tensor matrix);
// A convolution's weight (3-D to 5-D) that passes channels through.
TENON_API Tensor dirac_(Tensor tensor);
TENON_API Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
TENON_API Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
// Orthogonal rows or columns, times gain (Saxe and others, 2013).
TENON_API Tensor orthogonal_(Tensor tensor, double gain = 1.0);
// Normal values; this share of each column is zero.
TENON_API Tensor sparse_(Tensor tensor, double sparsity, double std = 0.01);
// Glorot and Bengio, 2010: the deviation is gain * sqrt(2 / (fan_in + fan_out)).
TENON_API Tensor xavier_normal_(Tensor tensor, double gain = 1.0);
TENON_API Tensor xavier_uniform_(Tensor tensor, double gain = 1.0);
// He and others, 2015: the deviation is gain(nonlinearity, a) / sqrt(fan).
TENON_API Tensor kaiming_normal_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                                 NonlinearityType nonlinearity = kLeakyReLU);
TENON_API Tensor kaiming_uniform_(Tensor tensor, double a = 0, FanModeType mode = kFanIn,
                                  NonlinearityType nonlinearity = kLeakyReLU);
// Inputs and outputs of one unit of a weight of rank 2 or more.
TENON_API std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor);

}  // namespace init
}  // namespace nn
}  // namespace tenon
