// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/dropout.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

TENON_API Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
// Drops whole channels of [N, C, ...].
TENON_API Tensor dropout1d(Tensor input, const DropoutFuncOptions& options = {});
TENON_API Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options = {});
TENON_API Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options = {});
// Keeps mean and variance of inputs that come from selu.
TENON_API Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options = {});
TENON_API Tensor feature_alpha_dropout(Tensor input,
                                       const FeatureAlphaDropoutFuncOptions& options = {});

namespace detail {
inline Tensor alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::alpha_dropout(
      std::move(input), AlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}
inline Tensor feature_alpha_dropout(Tensor input, double p, bool training, bool inplace) {
  return functional::feature_alpha_dropout(
      std::move(input), FeatureAlphaDropoutFuncOptions().p(p).training(training).inplace(inplace));
}
}  // namespace detail

}  // namespace functional
}  // namespace nn
}  // namespace tenon
