// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/vision.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

// Resamples the spatial dimensions to options.size() or by options.scale_factor(), of which one
// must be given.
TENON_API Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});

}  // namespace functional
}  // namespace nn
}  // namespace tenon
