// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Gradients, modules, optimizers, files and data loaders.
#pragma once

#include "operations.h"
#include "tenon/tensor.h"

namespace tenon::faults {

const std::vector<Operation>& training_operations();
std::vector<double> numbers_of(const Tensor& t);
std::vector<double> numbers_of(const std::vector<Tensor>& list);

}  // namespace tenon::faults
