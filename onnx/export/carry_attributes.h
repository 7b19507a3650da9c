// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tenon/jit/graph.h"

namespace tenon::onnx::exporting {

// Attributes of the module, `root`, which `g` takes first: values where no model could write them.
void carry_attributes(jit::Graph& g, const IValue& root);

}  // namespace tenon::onnx::exporting
