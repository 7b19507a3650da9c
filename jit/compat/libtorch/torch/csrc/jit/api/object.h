// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Modules of programs alone: what <torch/torch.h> brings of torch::jit.
#pragma once

#include <torch/namespaces.h>

#include "tenon/jit/module.h"

namespace torch::jit::script {
using jit::Method;
using jit::Module;
}  // namespace torch::jit::script
