// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// A definition for the sizes of a call, as a loop program.
#pragma once

#include "jit/comprehension/ranges.h"

namespace tenon::jit::comprehension {

struct Emitted {
  std::string text;
  std::vector<Shape> shapes;       // of the outputs
  std::vector<lp::Dtype> dtypes;   // of the outputs
  std::vector<std::size_t> taken;  // outputs whose given buffers are inputs after the arguments
};

// `facts`: sizes, and shapes of the arguments. `into`: what stands in the given outputs counts
// where a definition adds to it or leaves a part. ErrorReport shows the place.
Emitted emit(const Definition& definition, const Facts& facts, bool into);

}  // namespace tenon::jit::comprehension
