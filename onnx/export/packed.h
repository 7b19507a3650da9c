// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Packed sequences and the padded ones that ONNX has in their place (Packed, exporter.h).
#pragma once

#include "onnx/export/call.h"

namespace tenon::onnx::exporting {

// Of the elements that the argument has, and of the argument batch_sizes.
Packed packed_of(Call& c, const char* argument);
// Its padded elements for as many steps as the longest sequence has.
std::string longest_of(Call& c, const Packed& p);
// The packed elements, each of `rank` dimensions.
std::string packed_elements(Call& c, const Packed& p, int64_t rank);

}  // namespace tenon::onnx::exporting
