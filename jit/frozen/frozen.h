// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What Module does for modules whose weights are constants of their methods.
#pragma once

#include <functional>
#include <vector>

#include "tenon/jit/module.h"

namespace tenon::jit {

// Made by freeze, here or in torch: it has no attribute `training`, and is no exported program.
bool is_frozen(const Module& m);
// The tensors that are constants of its methods, each once.
std::vector<Tensor> frozen_constants(const Module& m);
// With own constants and methods.
Module clone_frozen(const Module& m);
// Forgets what was prepared for the constants as they were.
void forget_plans(const Module& m);

}  // namespace tenon::jit
