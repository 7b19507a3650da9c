// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Loop programs and their tensors, for the composite and the decomposition. Private to libtenon.
#pragma once

#include <memory>
#include <vector>

#include "tenon/ops/composite.gen.h"
#include "tenon/sdk/loop_program/call.h"

namespace tenon::loop_program {

namespace lp = sdk::loop_program;

// From a cache. ValueError for a text that is not a valid program.
std::shared_ptr<const lp::Program> read(std::string_view text);

ScalarType dtype_of(lp::Dtype dtype);
std::vector<lp::Given> given(TensorList tensors);

// The outputs by ordinary operators, recorded where gradients are. At least one input.
std::vector<Tensor> by_operators(TensorList inputs, std::string_view text, IntArrayRef numbers,
                                 ArrayRef<double> reals);

}  // namespace tenon::loop_program
