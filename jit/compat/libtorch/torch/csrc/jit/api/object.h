// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What <torch/torch.h> brings of torch::jit: modules of programs and how they are frozen, types,
// and values as bytes.
#pragma once

#include <ATen/core/jit_type.h>
#include <torch/namespaces.h>

#include <vector>

#include "tenon/jit/freeze.h"
#include "tenon/jit/module.h"
#include "tenon/jit/pickle.h"

namespace torch::jit {
using ::tenon::IValue;
// What a module's lists are.
using parameter_list = std::vector<Tensor>;
using named_parameter_list = std::vector<NamedTensor>;
using buffer_list = std::vector<Tensor>;
using named_buffer_list = std::vector<NamedTensor>;
using module_list = std::vector<Module>;
using named_module_list = std::vector<NamedModule>;
using named_attribute_list = std::vector<NamedIValue>;
}  // namespace torch::jit
namespace torch {
using jit::CompilationUnit;
}

namespace torch::jit::script {
using jit::Method;
using jit::Module;
}  // namespace torch::jit::script
