// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/nn/functional/dropout.h"

#include "tenon/ops.h"

namespace tenon {
namespace nn {
namespace functional {

namespace {

void check_probability(double p) {
  TENON_CHECK(p >= 0 && p <= 1, ValueError, "dropout probability must be within 0 and 1, got ", p);
}

Tensor copy_if_inplace(Tensor& input, const Tensor& dropped, bool inplace) {
  return inplace ? input.copy_(dropped) : dropped;
}

}  // namespace

Tensor dropout(Tensor input, const DropoutFuncOptions& options) {
  check_probability(options.p());
  if (options.inplace()) return tenon::dropout_(input, options.p(), options.training());
  return tenon::dropout(input, options.p(), options.training());
}

Tensor dropout1d(Tensor input, const DropoutFuncOptions& options) {
  check_probability(options.p());
  return copy_if_inplace(input, tenon::feature_dropout(input, options.p(), options.training()),
                         options.inplace());
}

Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options) {
  check_probability(options.p());
  return copy_if_inplace(input, tenon::feature_dropout(input, options.p(), options.training()),
                         options.inplace());
}

Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options) {
  check_probability(options.p());
  return copy_if_inplace(input, tenon::feature_dropout(input, options.p(), options.training()),
                         options.inplace());
}

Tensor alpha_dropout(Tensor input, const AlphaDropoutFuncOptions& options) {
  check_probability(options.p());
  return copy_if_inplace(input, tenon::alpha_dropout(input, options.p(), options.training()),
                         options.inplace());
}

Tensor feature_alpha_dropout(Tensor input, const FeatureAlphaDropoutFuncOptions& options) {
  check_probability(options.p());
  return copy_if_inplace(input,
                         tenon::feature_alpha_dropout(input, options.p(), options.training()),
                         options.inplace());
}

}  // namespace functional
}  // namespace nn
}  // namespace tenon
