// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Complex tensors. ONNX has no operators on them, so that one is written as its pairs: real and
// imaginary parts along a last dimension of two.
#pragma once

#include <string>

#include "onnx/export/call.h"

namespace tenon::onnx::exporting {

// An argument or a result of the call is complex.
bool has_complex(const Call& c);
// The pairs of an argument, as parts of the dtype; of a real one the second part is 0.
std::string pairs_of(Call& c, const char* argument, ScalarType dtype);
std::string part_of(Call& c, const std::string& pairs, int64_t part);  // 0: real, 1: imaginary
std::string pairs_of_parts(Call& c, const std::string& real, const std::string& imaginary);
std::string conjugate(Call& c, const std::string& pairs, ScalarType dtype);

}  // namespace tenon::onnx::exporting
