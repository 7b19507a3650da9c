// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What <torch/torch.h> brings of torch::jit: modules of programs, types, and values as bytes.
#pragma once

#include <ATen/core/jit_type.h>
#include <torch/namespaces.h>

#include "tenon/jit/module.h"
#include "tenon/jit/pickle.h"

namespace torch::jit::script {
using jit::Method;
using jit::Module;
}  // namespace torch::jit::script
