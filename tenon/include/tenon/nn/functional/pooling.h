// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include "tenon/nn/options/pooling.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

TENON_API Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options);
TENON_API Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options);
TENON_API Tensor avg_pool3d(const Tensor& input, const AvgPool3dFuncOptions& options);
TENON_API Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options);
TENON_API Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options);
TENON_API Tensor max_pool3d(const Tensor& input, const MaxPool3dFuncOptions& options);
TENON_API Tensor adaptive_avg_pool1d(const Tensor& input,
                                     const AdaptiveAvgPool1dFuncOptions& options);
TENON_API Tensor adaptive_avg_pool2d(const Tensor& input,
                                     const AdaptiveAvgPool2dFuncOptions& options);
TENON_API Tensor adaptive_avg_pool3d(const Tensor& input,
                                     const AdaptiveAvgPool3dFuncOptions& options);
TENON_API Tensor adaptive_max_pool1d(const Tensor& input,
                                     const AdaptiveMaxPool1dFuncOptions& options);
TENON_API Tensor adaptive_max_pool2d(const Tensor& input,
                                     const AdaptiveMaxPool2dFuncOptions& options);
TENON_API Tensor adaptive_max_pool3d(const Tensor& input,
                                     const AdaptiveMaxPool3dFuncOptions& options);
TENON_API Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options);
TENON_API Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options);
TENON_API Tensor lp_pool3d(const Tensor& input, const LPPool3dFuncOptions& options);
// Also the index of each maximum within the flattened spatial dimensions.
TENON_API std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input,
                                                             const MaxPool1dFuncOptions& options);
TENON_API std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input,
                                                             const MaxPool2dFuncOptions& options);
TENON_API std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& input,
                                                             const MaxPool3dFuncOptions& options);
TENON_API std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(
    const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options);
TENON_API std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(
    const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options);
TENON_API std::tuple<Tensor, Tensor> adaptive_max_pool3d_with_indices(
    const Tensor& input, const AdaptiveMaxPool3dFuncOptions& options);
// Values put back where max pooling found them, zeros elsewhere. indices are those of
// max_pool..d_with_indices; output_size is spatial or whole.
TENON_API Tensor max_unpool1d(const Tensor& input, const Tensor& indices,
                              const MaxUnpool1dFuncOptions& options);
TENON_API Tensor max_unpool2d(const Tensor& input, const Tensor& indices,
                              const MaxUnpool2dFuncOptions& options);
TENON_API Tensor max_unpool3d(const Tensor& input, const Tensor& indices,
                              const MaxUnpool3dFuncOptions& options);
// The maxima of windows at random places (Graham, 2014).
TENON_API Tensor fractional_max_pool2d(const Tensor& input,
                                       const FractionalMaxPool2dFuncOptions& options);
TENON_API Tensor fractional_max_pool3d(const Tensor& input,
                                       const FractionalMaxPool3dFuncOptions& options);
TENON_API std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(
    const Tensor& input, const FractionalMaxPool2dFuncOptions& options);
TENON_API std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(
    const Tensor& input, const FractionalMaxPool3dFuncOptions& options);

}  // namespace functional
}  // namespace nn
}  // namespace tenon
