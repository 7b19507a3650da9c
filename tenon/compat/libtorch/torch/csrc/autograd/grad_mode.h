// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/namespaces.h>

#include "tenon/autograd/mode.h"
#include "tenon/tensor.h"

namespace tenon::autograd {

using Variable = Tensor;
using tenon::AutoGradMode;
using tenon::GradMode;
using tenon::InferenceMode;

}  // namespace tenon::autograd
