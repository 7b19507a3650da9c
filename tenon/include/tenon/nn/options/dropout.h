// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/arg.h"

namespace tenon {
namespace nn {

struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  // Probability that an element (a channel for Dropout2d, Dropout3d) becomes zero.
  TENON_ARG(double, p) = 0.5;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};
using Dropout1dOptions = DropoutOptions;
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

namespace functional {
struct DropoutFuncOptions {
  // Probability that an element becomes zero.
  TENON_ARG(double, p) = 0.5;
  // false: the input is returned unchanged.
  TENON_ARG(bool, training) = true;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;

struct AlphaDropoutFuncOptions {
  // Probability that an element is dropped.
  TENON_ARG(double, p) = 0.5;
  // false: the input is returned unchanged.
  TENON_ARG(bool, training) = false;
  // Whether the input itself is changed.
  TENON_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;
}  // namespace functional

}  // namespace nn
}  // namespace tenon
