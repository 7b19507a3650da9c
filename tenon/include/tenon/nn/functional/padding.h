// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/nn/options/padding.h"
#include "tenon/tensor.h"

namespace tenon {
namespace nn {
namespace functional {

TENON_API Tensor pad(const Tensor& input, const PadFuncOptions& options);

}  // namespace functional
}  // namespace nn
}  // namespace tenon
