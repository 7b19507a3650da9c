// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Which sizes may differ from run to run where axes are dynamic, as far as size_rules.h tells.
#pragma once

#include "onnx/export/exporter.h"

namespace tenon::onnx::exporting {

// A tensor, or the tensors of a list.
bool has_fixed_sizes(const Exporter& e, const Item& i);

// Of what the node gives, from what is known of what it takes.
void note_sizes(Exporter& e, const jit::Node& n);

}  // namespace tenon::onnx::exporting
